-- turn: settles what finished and takes what comes next, for all destinations of a process.
-- ARGV: token, frames (JSON array: what many destinations have in common), policies (a line each: "frame index seq destination"), number of settles, takes,
-- adoptions, then
--   a settle:   "policy id fence outcome attempt delay[ effect generation pause]\nrecord"; a destination of several routes has a policy for each
--               (effect on its gate: see `judge`)
--   a take:     policy, want, generation of a ticket's first turn or ''
--   an adoption: policy, number n, then n times (id, fence)
-- Returns { fenced indexes, unknown, workerLost, expired, waiting of each take, now, three values a copy:
--   "index id fence attempt used first revived generation", metadata and body; ms until the gate of each take may permit more, 0 when it is not shut;
-- changes of gates: "index from to at reason generation fails since ends" }.
call('ZREM', P .. 'busy', '')   -- a first write that is never refused: a full Redis must let copies leave
local token, frames, policies = ARGV[1], cjson.decode(ARGV[2]), {}
for k, frame in ipairs(frames) do frames[k] = { __index = frame } end
for frame, index, seq, destination in string.gmatch(ARGV[3], '(%d+) (%d+) (%d+) (%S+)') do
  policies[#policies + 1] = setmetatable({ index = index, seq = tonumber(seq), destination = destination }, frames[tonumber(frame)])
end
local settles, takes, adoptions = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local now = now_ms()
local stamp = int(now)
local MAX_BYTES = 1048576
local fenced, unknown, lost, expired, bytes = {}, 0, 0, 0, 0
local handled, taking, freed, delivered, failed = {}, {}, {}, {}, {}

local gates = {}
local function gate_of(policy)
  local gate = gates[policy.destination]
  if not gate and policy.gate then
    gate = read_gate(policy.destination, policy.gate, policy.seq)
    gate.index = policy.index
    gates[policy.destination] = gate
  end
  return gate
end

-- It was not sent: its token comes back.
local function unspend(policy)
  local gate = gate_of(policy)
  if not gate or not gate.config.rate then return end
  affordable(gate, now)
  spend(gate, -1)
end

local function end_lease(d, id)
  local list = batch('ZREM', P .. 'lease:' .. d)
  list[#list + 1] = id
end

-- Back into the lane without counting: it never reached a socket.
local function hand_back(id, policy, copy, meta)
  local d = policy.destination
  copy.attempt = int(copy.attempt - 1)
  unspend(policy)
  if copy.attempt == copy.base then copy.first = '0' end
  copy.state, copy.since, copy.token = 'W', stamp, '-'
  end_lease(d, id)
  call('HSET', P .. 'e:' .. id, 'c:' .. d, write_copy(copy))
  call('ZADD', P .. 'lane:' .. d, meta.sequence, id)
end

-- Each outcome sets the copy's next place; `final` ones then look at the whole record.
local OUTCOME = {
  D = function(copy) copy.state = 'D' return true end,
  I = function(copy) copy.state = 'I' return true end,
  E = function(copy) copy.state, expired = 'E', expired + 1 return true end,
  X = function(copy, id, d, meta) copy.state = 'X' bury(id, d, meta, now) return true end,
  L = function(copy, id, d, _, delay)
    copy.state, copy.due = 'L', int(now + delay)
    call('ZADD', P .. 'due:' .. d, copy.due, id)
    return false
  end,
}

-- A copy whose lease ran out may be in the lane again, on the shelf, or dead as WorkerLost: the true outcome still counts while nobody took it anew.
local function is_lease_lost(copy)
  if copy.state == 'W' or copy.state == 'R' then return true end
  local unknown = tonumber(copy.unknown)
  return (copy.state == 'S' and unknown > 0) or (copy.state == 'X' and unknown >= MAX_UNKNOWN)
end

local function reclaim(id, d, copy, meta)
  call('ZREM', P .. 'lane:' .. d, id)
  call('ZREM', P .. 'late:' .. d, id)
  if copy.state == 'X' then forget_dead(id, d, meta.route) call('ZREM', P .. 'exp', id) end
end

-- Attempts by outcome, for statistics: `hours:<day>:<d>` has "<hour of the day>d" delivered and "…f" failed ones. It goes two days later.
local function count_hourly(d, outcome, n)
  local hour = math.floor(now / 3600000)
  local key = P .. 'hours:' .. int(math.floor(hour / 24)) .. ':' .. d
  if call('HINCRBY', key, hour % 24 .. outcome, n) == n then call('PEXPIRE', key, 172800000) end
end

local function settle(policy, id, fence, outcome, attempt, record, delay, effect)
  local d, key = policy.destination, P .. 'e:' .. id
  local v = read_record(id, 'm', 'c:' .. d)
  local meta, copy = read_meta(v[1]), read_copy(v[2] or nil)
  if not meta or not copy then end_lease(d, id) return true end
  if copy.fence ~= fence then return false end
  local lease_lost, on_shelf = is_lease_lost(copy), copy.state == 'S'
  if copy.state ~= 'A' and not lease_lost then end_lease(d, id) return true end       -- said before: the answer was lost, not the settle
  if outcome == 'B' or outcome == 'P' then
    if copy.state ~= 'A' then return true end
    hand_back(id, policy, copy, meta)
    if outcome == 'P' then
      call('ZREM', P .. 'lane:' .. d, id)
      copy.state, copy.due = 'L', int(now + delay)
      call('HSET', key, 'c:' .. d, write_copy(copy))
      call('ZADD', P .. 'due:' .. d, copy.due, id)
    end
    return true
  end
  if lease_lost then reclaim(id, d, copy, meta) end
  end_lease(d, id)
  copy.since, copy.token, copy.unknown = stamp, '-', '0'
  local final = false
  if on_shelf and outcome == 'L' then copy.due = int(now + delay)   -- its route is deleted: it stays where it is
  else final = OUTCOME[outcome](copy, id, d, meta, delay) end
  if outcome == 'D' and not on_shelf then delivered[d] = (delivered[d] or 0) + 1 end
  if outcome == 'L' or outcome == 'X' then failed[d] = (failed[d] or 0) + 1 end
  if on_shelf and final and meta.destinations == d then call('ZREM', P .. 'shelf:' .. meta.route, id) end
  call('HSET', key, 'c:' .. d, write_copy(copy), 'a:' .. d .. ':' .. attempt, record)
  if #attempt > 1 and tonumber(attempt) > MAX_LOG then call('HDEL', key, 'a:' .. d .. ':' .. int(attempt - MAX_LOG)) end
  if final then finish(id, meta, policy, now, copy.state) end
  if outcome == 'I' or outcome == 'E' then unspend(policy) end
  if effect ~= '' and policy.gate then
    local kind, generation, pause = string.match(effect, '^ (%u) (%d+) (%d+)$')
    local gate = gate_of(policy)
    judge(gate, kind, tonumber(generation), tonumber(pause), now)
    if gate.fails > 0 or gate.told > 0 then tell_about(gate, kind, record, now) end
  end
  return true
end

-- The worker of this copy is gone: whether the destination saw the request is unknown, and counted.
local function lose(id, policy)
  local d, key = policy.destination, P .. 'e:' .. id
  local v = read_record(id, 'm', 'c:' .. d)
  local meta, newer = read_meta(v[1])
  if newer then return call('ZADD', P .. 'lease:' .. d, int(-now), id) end
  call('ZREM', P .. 'lease:' .. d, id)
  local copy = read_copy(v[2] or nil)
  if not meta or not copy or copy.state ~= 'A' then return end
  unknown = unknown + 1
  local began = tonumber(copy.since)
  copy.unknown, copy.since, copy.token = copy.unknown + 1, stamp, '-'
  local dead = copy.unknown >= MAX_UNKNOWN
  if dead then
    lost = lost + 1
    copy.state = 'X'
    bury(id, d, meta, now)
  else
    copy.state = 'W'
    call('ZADD', P .. 'lane:' .. d, meta.sequence, id)
  end
  call('HSET', key, 'c:' .. d, write_copy(copy), 'a:' .. d .. ':' .. copy.attempt, cjson.encode({
    attempt = tonumber(copy.attempt), at = began, action = dead and 'dead' or 'unknown', reason = dead and 'WorkerLost' or nil,
    error = 'the worker was lost; whether the destination got the request is not known' }))
  if dead then finish(id, meta, policy, now, 'X') end
end

-- A lease past its deadline is marked (negative score) and returned MARK_MS later, so that after a frozen Redis the holders that live speak first.
-- Returns how many there are.
local function expire_leases(policy)
  local key = P .. 'lease:' .. policy.destination
  local head = call('ZRANGE', key, '0', '0', 'WITHSCORES')
  if not head[1] then return 0 end
  if tonumber(head[2]) <= now then
    for _, id in ipairs(call('ZRANGEBYSCORE', key, int(MARK_MS - now), '(0', 'LIMIT', 0, 64)) do lose(id, policy) end
    for _, id in ipairs(call('ZRANGEBYSCORE', key, 1, stamp, 'LIMIT', 0, 64)) do call('ZADD', key, int(-now), id) end
  end
  return call('ZCARD', key)
end

local function promote_due(policy)
  local d = policy.destination
  for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'due:' .. d, '-inf', stamp, 'LIMIT', '0', '100')) do
    local meta, odd = meta_of(id)
    if odd then call('ZADD', P .. 'due:' .. d, int(now + UNREADABLE_MS), id)
    else
      call('ZREM', P .. 'due:' .. d, id)
      if meta then call('ZADD', P .. 'lane:' .. d, meta.sequence, id) end
    end
  end
end

local READY = { W = true, R = true, L = true }

local function expire(id, policy, copy, meta_text)
  copy.state, copy.since = 'E', stamp
  call('HSET', P .. 'e:' .. id, 'c:' .. policy.destination, write_copy(copy))
  expired = expired + 1
  finish(id, read_meta(meta_text), policy, now, 'E')
end

local out = {}
-- Leases one copy and hands it out.
local function lease(id, policy, copy, meta_text, body)
  -- The budget's clock stands still in a lane: that time is added to its start.
  if copy.first == '0' then copy.first = stamp
  else copy.first = int(copy.first + math.max(0, now - (copy.state == 'L' and copy.due or copy.since))) end
  copy.fence, copy.attempt, copy.state, copy.since, copy.due, copy.token =
    int(copy.fence + 1), int(copy.attempt + 1), 'A', stamp, '0', token
  call('HSET', P .. 'e:' .. id, 'c:' .. policy.destination, write_copy(copy))
  local n = #out
  out[n + 1], out[n + 2], out[n + 3] = policy.index .. ' ' .. id .. ' ' .. copy.fence .. ' ' .. copy.attempt .. ' ' ..
    (copy.base == '0' and copy.attempt or int(copy.attempt - copy.base)) .. ' ' .. copy.first .. ' ' .. copy.revived .. (policy.handed or ''), meta_text, body
end

-- Routes of a shared destination that are suspended: their copies are not handed out but put on their route's shelf, so many a take.
local MAX_ASIDE = 256
local aside = 0
local function resting_routes(policy)
  if not policy.shelving then return nil end
  if not policy.resting then
    policy.resting = {}
    for _, route in ipairs(policy.shelving) do policy.resting[route] = true end
  end
  return policy.resting
end

-- Whether the copy belongs to one of these, and was put there. It leaves the lane with those that are taken.
local function put_aside(id, policy, resting)
  local v = read_record(id, 'm', 'c:' .. policy.destination)
  local meta, copy = read_meta(v[1]), read_copy(v[2] or nil)
  if not meta or not copy or not resting[meta.route] or not READY[copy.state] then return false end
  call('ZADD', P .. 'shelf:' .. meta.route, meta.sequence, id)
  call('SADD', P .. 'resting', meta.route)
  -- Its budget stood still since it came into the lane.
  if copy.state == 'L' then copy.since, copy.due = copy.due, '0' end
  copy.state = 'S'
  call('HSET', P .. 'e:' .. id, 'c:' .. policy.destination, write_copy(copy))
  aside = aside + 1
  return true
end

-- First everything is read, then leased, then taken out of the lane: an error on the way leaves no copy without a place.
-- Returns how many places it used, whether it had to stop before the end of the page, and whether nothing is left.
local function take_from(key, policy, room)
  local field, deadline = 'c:' .. policy.destination, int(now + policy.leaseMs)
  local resting, before = resting_routes(policy), aside
  local window = resting and room + MAX_ASIDE or room
  local ids = call('ZRANGE', key, '0', window)   -- one more, to see whether there is one
  local whole = #ids <= window
  ids[window + 1] = nil
  local used, taken, leases = 0, {}, {}
  for _, id in ipairs(ids) do
    if used - (aside - before) == room then break end
    if not (resting and put_aside(id, policy, resting)) then
      local v, odd = read_record(id, 'm', 'b', field)
      local copy = read_copy(v[3] or nil)
      local reader, at = string.match(v[1] or '', '^%d+ (%d+) %x+ %d+ (%d+)')
      if odd or (v[1] and (not at or tonumber(reader) > READER)) then
        call('ZADD', P .. 'due:' .. policy.destination, int(now + UNREADABLE_MS), id)
      elseif at and copy and READY[copy.state] then
        at = tonumber(at)
        if copy.revived ~= '0' then at = math.max(at, tonumber(copy.revived)) end
        if at + policy.maxAgeMs <= now then
          expire(id, policy, copy, v[1])
        else
          local body = v[2] or ''
          if bytes > 0 and bytes + #body > MAX_BYTES then break end
          bytes = bytes + #body
          taken[#taken + 1] = { id, copy, v[1], body }
          leases[#leases + 1] = deadline
          leases[#leases + 1] = id
        end
      end
    end
    used = used + 1
  end
  if #leases > 0 then call('ZADD', P .. 'lease:' .. policy.destination, unpack(leases)) end
  for _, t in ipairs(taken) do lease(t[1], policy, t[2], t[3], t[4]) end
  if used > 0 then call('ZREMRANGEBYRANK', key, '0', used - 1) end
  return used - (aside - before), used < #ids or (resting ~= nil and #ids == window), whole and used == #ids
end

-- Returns how many are left.
local function take_ready(policy, room)
  local d = policy.destination
  local lane, late = P .. 'lane:' .. d, P .. 'late:' .. d
  if room < 1 then return call('ZCARD', lane) + call('ZCARD', late) end
  local used, stopped, empty = take_from(lane, policy, room)
  local left = empty and 0 or call('ZCARD', lane)
  if used == room or stopped then return left + call('ZCARD', late) end
  local _, _, none = take_from(late, policy, room - used)
  return left + (none and 0 or call('ZCARD', late))
end

-- Through a gate: no more than it permits and the rate affords.
local function take_through(policy, gate, want, leased)
  local limit, ends = permitted(gate, now)
  if limit == 0 then return 0, ends and ends - now or 0 end
  promote_due(policy)
  local probes = gate.state == 'W' or gate.state == 'O'
  policy.handed = ' ' .. int(probes and gate.generation + 1 or gate.generation)
  local before, put = #out, aside
  local left = take_ready(policy, math.min(want, limit - leased, (affordable(gate, now)), 1000))
  local taken = (#out - before) / 3
  spend(gate, taken)
  if probes and taken > 0 then change_gate(gate, 'H', 'Probing', now) end
  local more, refill = affordable(gate, now)
  if more == 0 then return 0, left > 0 and refill - now or 0 end
  -- A page was put aside and nothing found that may be sent: the next one at once.
  local again = taken == 0 and aside > put and left > 0
  return math.min(left, (permitted(gate, now))), again and 1 or 0
end

-- Returns what is left ready (of what lies behind a gate: as much as that permits), and ms until the gate may permit more, when it is shut.
local function take(policy, want, started)
  local gate = gate_of(policy)
  if gate then gate.starts = started ~= '' and started
  -- The first ticket it ever had: from now on it is listed.
  elseif started ~= '' and call('HSET', P .. 'gate:' .. policy.destination, 'run', started) == 1 then list_destination(policy.destination, now) end
  local leased = expire_leases(policy)
  if gate then return take_through(policy, gate, want, leased) end
  promote_due(policy)
  return take_ready(policy, math.min(want, policy.limit - leased, 1000)), 0
end

local i = 7
for k = 1, settles do
  local index, id, fence, outcome, attempt, delay, effect, record = string.match(ARGV[i], '^(%d+) (%S+) (%d+) (%u) (%d+) (%d+)([^\n]*)\n(.*)$')
  local policy = policies[tonumber(index)]
  if not settle(policy, id, fence, outcome, attempt, record, tonumber(delay), effect) then fenced[#fenced + 1] = k - 1 end
  handled[policy.route] = { policy = policy, n = (handled[policy.route] and handled[policy.route].n or 0) + 1 }
  freed[policy.destination] = true
  i = i + 1
end
for d, n in pairs(delivered) do
  if gates[d] then gates[d].delivered = stamp else call('HSET', P .. 'gate:' .. d, 'delivered', stamp) end
  count_hourly(d, 'd', n)
end
for d, n in pairs(failed) do count_hourly(d, 'f', n) end
local first_take = i
i = first_take + 3 * takes
for _ = 1, adoptions do
  local policy, n, mine = policies[tonumber(ARGV[i])], tonumber(ARGV[i + 1]), {}
  -- By both: a copy whose lease ran out may be here twice, its old attempt beside the new one.
  for j = 0, n - 1 do mine[ARGV[i + 2 + 2 * j] .. ' ' .. ARGV[i + 3 + 2 * j]] = true end
  i = i + 2 + 2 * n
  for _, id in ipairs(call('ZRANGE', P .. 'lease:' .. policy.destination, 0, -1)) do
    local v = read_record(id, 'm', 'c:' .. policy.destination)
    local meta, copy = read_meta(v[1]), read_copy(v[2] or nil)
    if meta and copy and copy.state == 'A' and copy.token == token and not mine[id .. ' ' .. copy.fence] then
      hand_back(id, policy, copy, meta)
      freed[policy.destination] = true
    end
  end
end
flush()   -- before anything new is taken: an ended lease must not count against the limit
local waiting, reopens, held = {}, {}, {}
i = first_take
for k = 1, takes do
  held[2 * k - 1], held[2 * k] = int(now + HELD_MS), policies[tonumber(ARGV[i + 3 * (k - 1)])].destination
end
if takes > 0 then call('ZADD', P .. 'busy', unpack(held)) end
for k = 1, takes do
  local policy = policies[tonumber(ARGV[i])]
  local want = tonumber(ARGV[i + 1])
  waiting[k], reopens[k] = take(policy, want, ARGV[i + 2])
  if want > 0 then taking[policy.destination] = true end
  i = i + 3
end
local changes = {}
for d, gate in pairs(gates) do
  save_gate(gate, now)
  for _, change in ipairs(gate.changes) do changes[#changes + 1] = gate.index .. ' ' .. change end
end
-- Room was made and this process takes none of it: somebody else should.
for d in pairs(freed) do
  if not taking[d] and call('EXISTS', P .. 'lane:' .. d, P .. 'late:' .. d) > 0 then announce(d, 0, now) end
end
for _, h in pairs(handled) do sweep(h.policy, 2 * h.n, now) end
flush()
return { fenced, unknown, lost, expired, waiting, stamp, out, reopens, changes }
