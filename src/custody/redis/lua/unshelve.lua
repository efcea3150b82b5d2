-- unshelve: puts the copies of a route that lives again back, a page of its shelf a call. ARGV: route, page size, events to pass over at its beginning.
-- Returns { copies put back, 1 when there is more, events to pass over next time: those that only a newer Davit may read stay }.
call('ZREM', P .. 'busy', '')
local route, size, passed, now = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), now_ms()
if not shelved_since(route) then return { 0, 0, 0 } end
local state, shelf = P .. 'route:' .. route, P .. 'shelf:' .. route
call('HDEL', state, 'walked', 'open', 'at', 'left', 'purge', 'purgedRecords', 'purgedLive', 'purgedDead')

local unshelved, looked, touched = 0, 0, {}
local ids = call('ZRANGE', shelf, passed, passed + size - 1)
local done = #ids < size
for i, id in ipairs(ids) do
  local meta, odd = meta_of(id)
  if meta then
    local names = names_of(meta)
    for k, copy in pairs(copies_of(id, names)) do
      if copy.state == 'S' then
        take_from_shelf(id, names[k], copy, meta, now)
        touched[names[k]] = true
        unshelved = unshelved + 1
      end
    end
    looked = looked + #names
  end
  if odd then passed = passed + 1 else call('ZREM', shelf, id) end
  if looked >= MAX_COPIES and i < #ids then
    done = false
    break
  end
end
for d in pairs(touched) do announce(d, 0, now) end
if not done then return { unshelved, 1, passed } end
if passed > 0 then return { unshelved, 0, 0 } end
call('ZREM', P .. 'orphans', route)
call('DEL', P .. 'places:' .. route)
call('HDEL', state, 'shelved', 'name', 'uid')
return { unshelved, 0, 0 }
