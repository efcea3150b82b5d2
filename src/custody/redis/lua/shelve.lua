-- shelve: takes the live copies of a deleted route out of their places, a page of its log a call.
-- ARGV: route, its name, UID of its namespace (both '' when not known), page size, destinations it had.
-- Returns { copies shelved, copies with a running attempt, 1 when there is more }.
call('ZREM', P .. 'busy', '')
local route, now = ARGV[1], now_ms()
local state = P .. 'route:' .. route
local touched = {}
for i = 5, #ARGV do
  call('SADD', P .. 'places:' .. route, ARGV[i])
  touched[ARGV[i]] = true
end
if not shelved_since(route) then
  if call('EXISTS', P .. 'log:' .. route) == 0 then
    forget_route(route)
    return { 0, 0, 0 }
  end
  call('ZADD', P .. 'orphans', int(now), route)
  call('HDEL', state, 'walked', 'open', 'at', 'left')
  call('HSET', state, 'shelved', int(now))
end
if ARGV[2] ~= '' then call('HSET', state, 'name', ARGV[2], 'uid', ARGV[3]) end
call('SADD', P .. 'routes', route)

local progress = call('HMGET', state, 'walked', 'open', 'at', 'left')
local walked, open, at, left = progress[1], progress[2], progress[3], progress[4] or nil
local from = (at and '(' .. at) or open or (walked and '(' .. walked) or ''
local rows, last_page = log_page(route, from, tonumber(ARGV[4]))

local shelved, active, looked = 0, 0, 0
-- `at` is its record's place in the log.
local function shelve(id, d, copy, meta)
  if copy.state == 'A' then
    if is_held(id, d, now) then
      active = active + 1
      left = left or at
      return
    end
    give_up_lease(id, d, copy, now)
  end
  put_on_shelf(id, d, copy, meta, now)
  shelved = shelved + 1
end

for i = 1, #rows, 2 do
  local id, meta = rows[i], meta_of(rows[i])
  at = int(tonumber(rows[i + 1]))
  if meta then
    local names = names_of(meta)
    for k, copy in pairs(copies_of(id, names)) do
      touched[names[k]] = true
      if LIVE[copy.state] and copy.state ~= 'S' then shelve(id, names[k], copy, meta) end
    end
    looked = looked + #names
  end
  if looked >= MAX_COPIES and i + 2 <= #rows then
    last_page = false
    break
  end
end
for d in pairs(touched) do
  call('SADD', P .. 'places:' .. route, d)
  rest_if_empty(d)
end

if not last_page then
  call('HSET', state, 'at', at)
  if left then call('HSET', state, 'left', left) end
  return { shelved, active, 1 }
end
if at or walked then call('HSET', state, 'walked', at or walked) end
if left then call('HSET', state, 'open', left) else call('HDEL', state, 'open') end
call('HDEL', state, 'at', 'left')
return { shelved, active, 0 }
