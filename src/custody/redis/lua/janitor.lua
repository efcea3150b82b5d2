-- janitor: one short call under a lock; level, not edge: it rewrites whatever ticket is missing and removes what retention says.
-- ARGV: token of the caller, lock ms, policies of the routes it knows (JSON object by route), the route whose own workers call or ''.
-- Returns { 1 when there is more, three values for each ticket that is needed: destination, generation, the route whose workers serve it or '' },
-- or {} when another process holds the lock.
call('ZREM', P .. 'busy', '')
local now = now_ms()
if ARGV[4] ~= '' then call('ZADD', P .. 'dedicated', int(now), ARGV[4]) end
if not call('SET', P .. 'janitor', ARGV[1], 'NX', 'PX', ARGV[2]) then return {} end
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

local function look_at_record(id)
  local meta, odd = meta_of(id)
  if odd then return look_later(id, math.huge, now) end
  if not meta then return call('ZREM', P .. 'exp', id) end
  local policy = policies[meta.route]
  if not policy then return call('ZADD', P .. 'exp', int(now + 3600000), id) end
  local live, dead, kept, since = survey(id, meta)
  if live then return call('ZREM', P .. 'exp', id) end
  local due = (dead or kept) and since + policy.deadLettersMs or meta.at + policy.deliveredMs
  if due > now then return look_later(id, due, now) end
  remove_record(id, meta, dead or kept)
  call('ZREM', P .. 'exp', id)
end

local looks = call('ZRANGEBYSCORE', P .. 'exp', '-inf', int(now), 'LIMIT', 0, PAGE)
for _, member in ipairs(looks) do
  local route = string.match(member, '^r:(%x+)$')
  if route then look_at_route(member, route) else look_at_record(member) end
end
flush()
return { (#looked_at == PAGE or #looks == PAGE) and 1 or 0, tickets }
