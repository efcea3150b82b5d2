-- purge: removes everything of a route that has been on its shelf for long enough, a page of its log a call. ARGV: route, that long in ms, page size.
-- Returns { -1 } when it has not, else { records, copies not delivered, dead letters, unreadable records, 1 when there is more }: counts of all calls.
call('ZREM', P .. 'busy', '')
local route, now = ARGV[1], now_ms()
local state = P .. 'route:' .. route
local since = shelved_since(route)
if not since or since + tonumber(ARGV[2]) > now then return { -1 } end

local at = call('HGET', state, 'purge')
local rows, last_page = log_page(route, at and '(' .. at or '', tonumber(ARGV[3]))
local records, undelivered, dead, looked = 0, 0, 0, 0
local function remove(id, meta)
  local names = names_of(meta)
  for k, copy in pairs(copies_of(id, names)) do
    if LIVE[copy.state] then
      leave_places(id, names[k])
      undelivered = undelivered + 1
    elseif copy.state == 'X' then dead = dead + 1 end
    call('SADD', P .. 'places:' .. route, names[k])
  end
  call('ZREM', P .. 'exp', id)
  call('ZREM', P .. 'shelf:' .. route, id)
  remove_record(id, meta, true)
  records = records + 1
  looked = looked + #names
end

for i = 1, #rows, 2 do
  local id = rows[i]
  local meta, odd = meta_of(id)
  at = int(tonumber(rows[i + 1]))
  if meta then remove(id, meta)
  elseif not odd then call('ZREM', P .. 'log:' .. route, id) end
  if looked >= MAX_COPIES and i + 2 <= #rows then
    last_page = false
    break
  end
end
flush()
local totals = {
  call('HINCRBY', state, 'purgedRecords', records),
  call('HINCRBY', state, 'purgedLive', undelivered),
  call('HINCRBY', state, 'purgedDead', dead),
}
if not last_page then
  call('HSET', state, 'purge', at)
  return { totals[1], totals[2], totals[3], 0, 1 }
end
-- What is left could not be read. A newer Davit may be able to.
local unreadable = call('ZCARD', P .. 'log:' .. route)
if unreadable == 0 then forget_route(route)
else call('HDEL', state, 'purge', 'purgedRecords', 'purgedLive', 'purgedDead') end
return { totals[1], totals[2], totals[3], unreadable, 0 }
