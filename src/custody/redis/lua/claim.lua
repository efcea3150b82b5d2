-- claim: dedupe, sequence, record and copies of up to 64 events.
-- ARGV: policies (JSON array; `limits` by destination), count, then four for each event:
--   "id policy mode mark bodyHash seq[ nonce nonceBodyHash nonceWindow]" (policy: its index), destinations separated by spaces, json, and the body.
-- Returns one string an event: N new, D duplicate, R revived, followed by the id of the event that counts; U when its nonce, or its mark with a hash behind '!', came with another body.
local policies = cjson.decode(ARGV[1])
local count = tonumber(ARGV[2])
local now = now_ms()
local stamp = int(now)

local events, wanted = {}, {}
for k = 1, count do
  local i = 4 * k - 1
  local id, p, mode, mark, hash, seq, nonce = string.match(ARGV[i], '^(%S+) (%d+) (%S) (%S+) (%S+) (%d+)(.*)$')
  p = tonumber(p)
  events[k] = { id = id, p = p, mode = mode, mark = mark, hash = hash, seq = seq, nonce = nonce ~= '' and nonce or nil, names = ARGV[i + 1], json = ARGV[i + 2], body = ARGV[i + 3] }
  wanted[p] = (wanted[p] or 0) + 1
end

-- Sequences are reserved first and written at once, so that no error further down can hand one out twice. Gaps are normal.
local next_sequence = {}
for p, n in pairs(wanted) do
  local key = P .. 'route:' .. policies[p].route
  local last = call('HGET', key, 'seq')
  if not last then call('SADD', P .. 'routes', policies[p].route) end
  local first = math.max((tonumber(last) or 0) + 1, now * 4096)
  call('HSET', key, 'seq', int(first + n - 1))
  if not last then call('HSET', key, 'born', int(first - 1)) end   -- what the route had under an earlier life is not known
  next_sequence[p] = first
  local look = 'r:' .. policies[p].route
  if not call('ZSCORE', P .. 'exp', look) then look_later(look, now + policies[p].deliveredMs, now) end
end

local function in_window(value, window)
  return value and tonumber(string.match(value, ' (%d+) ')) > now - window and value or nil
end

-- The buckets in which a mark of this policy may lie, looked up once a call: this call's own marks are in `fresh` until its end. The edited window reaches back
-- through buckets of the earlier size; those expire after two windows, so three are all there can be.
local function buckets_of(policy)
  if policy.buckets then return policy.buckets end
  local keys = {}
  local function add(window, depth)
    for back = 0, depth do
      local key = P .. 'seen:' .. int(window) .. ':' .. int(math.floor(now / window) - back)
      if call('EXISTS', key) == 1 then keys[#keys + 1] = key end
    end
  end
  add(policy.windowMs, 1)
  for _, earlier in ipairs(policy.earlierWindows) do
    if earlier['until'] > now then add(earlier.windowMs, 2) end
  end
  policy.buckets = keys
  return keys
end

local fresh = {}   -- marks of this call: they are written at its end
local function find_mark(field, policy)
  local value = fresh[field] or call('HGET', P .. 'live', field)
  if value then return value end
  for _, key in ipairs(buckets_of(policy)) do
    local found = in_window(call('HGET', key, field), policy.windowMs)
    if found then return found end
  end
end

-- A nonce is good for one body. It lies in `nonce:<nonce>` as that body's hash. A key of its own, since each is good for another time: it must be found again
-- whatever the route's window is by then, and whatever time the request says that bears it.
local used, nonces = {}, {}
local function is_reused(e)
  local nonce, hash, window = string.match(e.nonce, '^ (%S+) (%S+) (%d+)$')
  local known = used[nonce] or call('GET', P .. 'nonce:' .. nonce)
  if known and known ~= hash then return true end
  used[nonce] = hash
  nonces[#nonces + 1] = { nonce, tonumber(window) }
  return false
end

local lanes = {}
local function enqueue(id, destination, limit, sequence)
  local l = lanes[destination]
  if not l then
    local lane = P .. 'lane:' .. destination
    l = { length = call('ZCARD', lane), hints = {}, list = batch('ZADD', lane) }
    lanes[destination] = l
  end
  local list, n = l.list, #l.list
  list[n + 1], list[n + 2] = sequence, id
  if l.length % 64 == 0 and l.length / 64 < math.ceil(limit / 64) then l.hints[#l.hints + 1] = l.length / 64 end
  l.length = l.length + 1
end

-- A delivery that is known: dead copies come back, everything else is a duplicate. Both write, so that WAIT covers the answer.
local function again(value, policy)
  local id = string.sub(value, 1, 26)
  local key = P .. 'e:' .. id
  local meta = meta_of(id)
  local revived = false
  if meta then
    for d in string.gmatch(meta.destinations, '%S+') do
      local copy = read_copy(call('HGET', key, 'c:' .. d))
      if copy and copy.state == 'X' then
        revive(id, d, meta, copy, 'lane', 'W', now)
        announce(d, 0, now)
        revived = true
      end
    end
    call('HINCRBY', key, 'n', 1)
  end
  call('HINCRBY', P .. 'route:' .. policy.route, 'duplicates', 1)
  return (revived and 'R' or 'D') .. id
end

local out = {}
local marks, seen, logs = {}, {}, {}

-- An event of its own: its record is written here, the rest with the batch.
local function add(e, policy, mark)
  local id, names = e.id, e.names
  local sequence = int(next_sequence[e.p])
  next_sequence[e.p] = next_sequence[e.p] + 1
  local meta = '1 1 ' .. policy.route .. ' ' .. sequence .. ' ' .. stamp .. ' ' .. e.seq .. ' ' .. e.mode .. ' ' .. mark .. ' ' .. e.hash .. '\n' .. names .. '\n' .. e.json
  local waits = 'W 0 0 0 0 0 ' .. stamp .. ' 0 0 -'
  if names ~= '' and not string.find(names, ' ', 1, true) then
    call('HSET', P .. 'e:' .. id, 'b', e.body, 'm', meta, 'c:' .. names, waits)
    enqueue(id, names, policy.limits[names], sequence)
  else
    local fields = {}
    for destination in string.gmatch(names, '%S+') do
      fields[#fields + 1] = 'c:' .. destination
      fields[#fields + 1] = waits
      enqueue(id, destination, policy.limits[destination], sequence)
    end
    call('HSET', P .. 'e:' .. id, 'b', (names ~= '' or policy.keepBodies) and e.body or '', 'm', meta, unpack(fields))
  end
  if e.mode ~= '-' then
    local value = id .. ' ' .. stamp .. ' ' .. e.hash
    fresh[mark] = value
    if e.mode == 'm' and names ~= '' then
      local n = #marks
      marks[n + 1], marks[n + 2] = mark, value
    else
      seen[#seen + 1] = { id, { at = stamp, mark = mark, hash = e.hash }, policy }
    end
  else
    fresh[id] = true
  end
  local log = logs[policy.route]
  if not log then
    log = {}
    logs[policy.route] = log
  end
  local n = #log
  log[n + 1], log[n + 2] = sequence, id
  return 'N' .. id
end

for k, e in ipairs(events) do
  local policy, mark, known = policies[e.p], e.mark, nil
  local reused = e.nonce and is_reused(e)
  if reused then known = e.id
  elseif e.mode == '-' then
    known = (fresh[e.id] or call('ZSCORE', P .. 'log:' .. policy.route, e.id)) and e.id or nil
  else
    known = find_mark(mark, policy)
    if known and e.hash ~= '-' and string.match(known, '(%S+)$') ~= e.hash then
      if string.sub(e.hash, 1, 1) == '!' then   -- an id that is good for one body
        reused = true
      else
        mark = mark .. e.hash   -- same id, other bytes, and the id is not signed: an event of its own
        known = find_mark(mark, policy)
      end
    end
  end
  if reused then out[k] = 'U' .. e.id
  elseif not known then out[k] = add(e, policy, mark)
  elseif string.sub(known, 1, 26) == e.id then out[k] = 'N' .. e.id   -- our own batch, sent again after a lost answer
  else out[k] = again(known, policy) end
end

-- Records are written, lanes follow, and then what makes an event known: should one of them fail, none is known, and no sender is told that it is kept.
flush()
if #marks > 0 then call('HSET', P .. 'live', unpack(marks)) end
for _, m in ipairs(seen) do mark_seen(m[1], m[2], m[3], now) end
for _, n in ipairs(nonces) do
  local key = P .. 'nonce:' .. n[1]
  if call('PTTL', key) < n[2] then call('SET', key, used[n[1]], 'PX', int(n[2])) end
end
flush()
for route, log in pairs(logs) do call('ZADD', P .. 'log:' .. route, unpack(log)) end
for destination, lane in pairs(lanes) do
  for _, slot in ipairs(lane.hints) do announce(destination, slot, now) end
end
for p, n in pairs(wanted) do sweep(policies[p], 2 * n, now) end
flush()
return out
