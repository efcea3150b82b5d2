-- claim: dedupe, sequence, record and copies of up to 64 events.
-- ARGV: policies (JSON array), count, then for each event:
--   id, index of its policy, mode, mark, bodyHash, seq, json, body, number of copies, then (destination, limit) each.
-- Returns one string an event: N new, D duplicate, R revived, followed by the id of the event that counts.
local policies = cjson.decode(ARGV[1])
local count = tonumber(ARGV[2])
local now = now_ms()
local stamp = int(now)

-- Sequences are reserved first and written at once, so that no error further down can hand one out twice. Gaps are normal.
local wanted = {}
do
  local i = 3
  for _ = 1, count do
    local p = tonumber(ARGV[i + 1])
    wanted[p] = (wanted[p] or 0) + 1
    i = i + 9 + 2 * tonumber(ARGV[i + 8])
  end
end
local next_sequence = {}
for p, n in pairs(wanted) do
  local key = P .. 'route:' .. policies[p].route
  local first = math.max((tonumber(call('HGET', key, 'seq')) or 0) + 1, now * 4096)
  call('HSET', key, 'seq', int(first + n - 1))
  next_sequence[p] = first
  local look = 'r:' .. policies[p].route
  if not call('ZSCORE', P .. 'exp', look) then call('ZADD', P .. 'exp', int(now + policies[p].deliveredMs), look) end
end

local function in_window(value, window)
  return value and tonumber(string.match(value, ' (%d+) ')) > now - window and value or nil
end

-- The buckets a mark of this policy may lie in, made once a call. The edited window reaches back through buckets of the earlier size; those expire
-- after two windows, so three are all there can be.
local function buckets_of(policy)
  if policy.buckets then return policy.buckets end
  local keys = {}
  local function add(window, depth)
    for back = 0, depth do
      keys[#keys + 1] = P .. 'seen:' .. int(window) .. ':' .. int(math.floor(now / window) - back)
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

local lanes = {}
local function enqueue(id, destination, limit, sequence)
  local lane = P .. 'lane:' .. destination
  local l = lanes[destination]
  if not l then
    l = { length = call('ZCARD', lane), hints = {} }
    lanes[destination] = l
  end
  batch('ZADD', lane, sequence, id)
  local slot = math.floor(l.length / 64)
  if l.length % 64 == 0 and slot < math.ceil(limit / 64) then l.hints[#l.hints + 1] = slot end
  l.length = l.length + 1
end

-- A delivery that is known: dead copies come back, everything else is a duplicate. Both write, so that WAIT covers the answer.
local function again(value, policy)
  local id = string.sub(value, 1, 26)
  local key = P .. 'e:' .. id
  local meta = read_meta(call('HGET', key, 'm'))
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

local out, i = {}, 3
local marks, seen, logged = {}, {}, {}
for k = 1, count do
  local id, p, mode, mark, hash, seq, json, body, copies =
    ARGV[i], tonumber(ARGV[i + 1]), ARGV[i + 2], ARGV[i + 3], ARGV[i + 4], ARGV[i + 5], ARGV[i + 6], ARGV[i + 7], tonumber(ARGV[i + 8])
  local first_copy = i + 9
  i = first_copy + 2 * copies
  local policy, key = policies[p], P .. 'e:' .. id
  local known
  if mode == '-' then
    known = (fresh[id] or call('ZSCORE', P .. 'log:' .. policy.route, id)) and id or nil
  else
    known = find_mark(mark, policy)
    if known and hash ~= '-' and string.match(known, '(%S+)$') ~= hash then
      mark = mark .. hash   -- same id, other bytes, and the id is not signed: an event of its own
      known = find_mark(mark, policy)
    end
  end
  if known and string.sub(known, 1, 26) == id then
    out[k] = 'N' .. id      -- our own batch, sent again after a lost answer
  elseif known then
    out[k] = again(known, policy)
  else
    local sequence = int(next_sequence[p])
    next_sequence[p] = next_sequence[p] + 1
    local names, fields = {}, {}
    for c = 0, copies - 1 do
      local destination = ARGV[first_copy + 2 * c]
      names[c + 1] = destination
      fields[2 * c + 1] = 'c:' .. destination
      fields[2 * c + 2] = 'W 0 0 0 0 0 ' .. stamp .. ' 0 0 -'
      enqueue(id, destination, tonumber(ARGV[first_copy + 2 * c + 1]), sequence)
    end
    local head = '1 1 ' .. policy.route .. ' ' .. sequence .. ' ' .. stamp .. ' ' .. seq .. ' ' .. mode .. ' ' .. mark .. ' ' .. hash
    call('HSET', key, 'b', (copies > 0 or policy.keepBodies) and body or '', 'm', head .. '\n' .. table.concat(names, ' ') .. '\n' .. json, unpack(fields))
    if mode ~= '-' then
      local value = id .. ' ' .. stamp .. ' ' .. hash
      fresh[mark] = value
      if mode == 'm' and copies > 0 then marks[#marks + 1] = { mark, value }
      else seen[#seen + 1] = { id, { at = now, mark = mark, hash = hash }, policy } end
    end
    logged[#logged + 1] = { policy.route, sequence, id }
    fresh[id] = true
    out[k] = 'N' .. id
  end
end

-- Records are written, lanes follow, and then what makes an event known: should one of them fail, none is known, and no sender is told that it is kept.
flush()
for _, m in ipairs(marks) do batch('HSET', P .. 'live', m[1], m[2]) end
for _, m in ipairs(seen) do mark_seen(m[1], m[2], m[3], now) end
for _, l in ipairs(logged) do batch('ZADD', P .. 'log:' .. l[1], l[2], l[3]) end
flush()
for destination, lane in pairs(lanes) do
  for _, slot in ipairs(lane.hints) do announce(destination, slot, now) end
end
for p, n in pairs(wanted) do sweep(policies[p], 2 * n, now) end
flush()
return out
