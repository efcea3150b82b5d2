-- janitor: one short call under a lock; level, not edge: it rewrites whatever ticket is missing and removes what retention says.
-- ARGV: token of the caller, lock ms, policies of the routes it knows (JSON object by route), the route whose own workers call or ''.
-- Returns { 1 when there is more, three values for each ticket that is needed: destination, generation, the route whose workers serve it or '',
-- 1 when a replay waits to be advanced, two values for each route of what operators did since the last call: "replayed" or "discarded" and its key, count },
-- or {} when another process holds the lock.
call('ZREM', P .. 'busy', '')
local now = now_ms()
if ARGV[4] ~= '' then call('ZADD', P .. 'dedicated', int(now), ARGV[4]) end
local holder = call('GET', P .. 'janitor')
if holder and holder ~= ARGV[1] then return {} end
call('SET', P .. 'janitor', ARGV[1], 'PX', ARGV[2])   -- who found more than a page comes back sooner than its lock ends
call('ZREMRANGEBYSCORE', P .. 'dedicated', '-inf', int(now - DEDICATED_MS))
local policies = cjson.decode(ARGV[3])
local PAGE = 100

local tickets = {}
local function write_ticket(d)
  local gate = P .. 'gate:' .. d
  local g = call('HMGET', gate, 'g', 'run')
  local generation = g[1] or '0'
  -- A ticket of this generation was started and its holder has gone quiet: only another id gets past the dead one.
  if g[2] == generation then generation = int(call('HINCRBY', gate, 'g', 1)) end
  call('ZADD', P .. 'busy', int(now + HELD_MS), d)
  for _, value in ipairs({ d, generation, served_by(d, now) }) do tickets[#tickets + 1] = value end
end

local function has_copies(d)
  for _, place in ipairs({ 'lane:', 'late:', 'due:', 'lease:' }) do
    if call('EXISTS', P .. place .. d) == 1 then return true end
  end
  return false
end

local looked_at = call('ZRANGEBYSCORE', P .. 'busy', '-inf', int(now), 'LIMIT', 0, PAGE)
for _, d in ipairs(looked_at) do
  if has_copies(d) then write_ticket(d) else call('ZREM', P .. 'busy', d) end
end

local function look_at_route(member, route)
  local policy = policies[route]
  if not policy then return call('ZADD', P .. 'exp', int(now + 3600000), member) end
  flush()
  sweep(policy, PAGE, now)
  flush()
  local cursor = call('HGET', P .. 'route:' .. route, 'cursor')
  local head = call('ZRANGEBYSCORE', P .. 'log:' .. route, cursor and '(' .. cursor or '-inf', '+inf', 'WITHSCORES', 'LIMIT', 0, 1)
  if not head[1] then return call('ZREM', P .. 'exp', member) end
  local at = math.floor(tonumber(head[2]) / 4096) + policy.deliveredMs
  look_later(member, math.max(at, now + FRESH_MS), now)
end

-- What an operator cancelled or discarded was not settled by `turn`: its mark counts its window from now on, and its body may go.
local function settle_record(id, meta, policy, kept)
  local value = meta.mode == 'm' and call('HGET', P .. 'live', meta.mark)
  if value and string.sub(value, 1, 26) == id then
    mark_seen(id, meta, policy, now)
    call('HDEL', P .. 'live', meta.mark)
  end
  if not kept and not policy.keepBodies then call('HDEL', P .. 'e:' .. id, 'b') end
end

local function look_at_record(id)
  local meta, odd = meta_of(id)
  if odd then return look_later(id, math.huge, now) end
  if not meta then return call('ZREM', P .. 'exp', id) end
  local policy = policies[meta.route]
  if not policy then return call('ZADD', P .. 'exp', int(now + 3600000), id) end
  local live, dead, kept, since, binned = survey(id, meta)
  if live then return call('ZREM', P .. 'exp', id) end
  if not dead and not binned then settle_record(id, meta, policy, kept) end
  local due = meta.at + policy.deliveredMs
  if dead or kept then due = since + math.max(policy.deadLettersMs, binned and BIN_MS or 0) end
  if due > now then return look_later(id, due, now) end
  remove_record(id, meta, dead or kept)
  call('ZREM', P .. 'exp', id)
end

-- Whether nothing is lost with what is known of a destination: it has no copies, and nothing has happened to it for long. What its config says comes with its
-- next copy. That one is disabled is kept for good.
local FORGET_MS = 30 * 86400000
local function has_faded(d)
  if call('EXISTS', P .. 'dead:' .. d) == 1 then return false end
  local v = call('HMGET', P .. 'gate:' .. d, 'st', 'delivered')
  local state, ends, since, at = string.match(v[1] or 'C 0 0 0 0 0 0 0 0 -', '^(%u) (%d+) %d+ %d+ (%d+) %d+ %d+ %d+ (%d+) ')
  if not state or state == 'D' then return false end
  return math.max(tonumber(ends), tonumber(since), tonumber(at), tonumber(v[2] or '0')) + FORGET_MS <= now
end

local function look_at_destination(member)
  local d = string.sub(member, 3)
  local is_busy = has_copies(d)
  if not is_busy and has_faded(d) then
    call('ZREM', P .. 'exp', member)
    call('ZREM', P .. 'destinations', d)
    return call('DEL', P .. 'gate:' .. d)
  end
  call('ZADD', P .. 'exp', int(now + LOOK_MS), member)
  -- One that is disabled, which may have been deleted, or have no gate any more.
  if is_busy and not call('ZSCORE', P .. 'busy', d) then write_ticket(d) end
end

-- A page of the shelf of a route that was suspended, when it delivers again. Returns whether there is more.
local function resume(route)
  -- It was deleted meanwhile: that shelf is emptied when it is there again.
  if shelved_since(route) then call('SREM', P .. 'resting', route) return false end
  local unshelved, last_page, passed = unshelve_page(route, PAGE, 0, now)
  if last_page and passed == 0 then call('SREM', P .. 'resting', route) end
  return not last_page and unshelved > 0
end

local is_resuming = false
for _, route in ipairs(call('SMEMBERS', P .. 'resting')) do
  local policy = policies[route]
  if policy and not policy.suspended then is_resuming = resume(route) or is_resuming end
end

local tally = P .. 'tally'   -- what operators did, until a process has counted it
-- A discarded copy whose time to be restored is over. Its record stays as long as one that was delivered, so that lists have no gap.
local function empty_bin(member)
  local id, d = string.match(member, '^b:([^|]+)|(.*)$')
  local v = read_record(id, 'm', 'c:' .. d)
  local meta, copy = read_meta(v[1] or nil), read_copy(v[2] or nil)
  if meta and not policies[meta.route] then return call('ZADD', P .. 'exp', int(now + 3600000), member) end
  call('ZREM', P .. 'exp', member)
  call('ZREM', P .. 'bin', id .. '|' .. d)
  if not meta or not copy or copy.state ~= 'G' or copy.token ~= 'bin' then return end
  copy.token = '-'
  call('HSET', P .. 'e:' .. id, 'c:' .. d, write_copy(copy))
  for n = math.max(1, copy.attempt - MAX_LOG), tonumber(copy.attempt) do call('HDEL', P .. 'e:' .. id, 'a:' .. d .. ':' .. int(n)) end
  call('HINCRBY', tally, 'discarded ' .. meta.route, 1)
  look_at_record(id)   -- at once: its mark must leave `live` before anything may remove the record
end

local looks = call('ZRANGEBYSCORE', P .. 'exp', '-inf', int(now), 'LIMIT', 0, PAGE)
for _, member in ipairs(looks) do
  local route = string.match(member, '^r:(%x+)$')
  if route then look_at_route(member, route)
  elseif string.sub(member, 1, 2) == 'b:' then empty_bin(member)
  elseif string.sub(member, 1, 2) == 'd:' then look_at_destination(member)
  else look_at_record(member) end
end
flush()
local counts = call('HGETALL', tally)
if #counts > 0 then call('DEL', tally) end
return { (#looked_at == PAGE or #looks == PAGE or is_resuming) and 1 or 0, tickets, call('EXISTS', P .. 'replaying'), counts }
