-- unshelve: puts the copies of a route that lives again back, a page of its shelf a call. ARGV: route, page size, events to pass over at its beginning.
-- Returns { copies put back, 1 when there is more, events to pass over next time: those that only a newer Davit may read stay }.
call('ZREM', P .. 'busy', '')
local route, size, passed, now = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), now_ms()
if not shelved_since(route) then return { 0, 0, 0 } end
local state = P .. 'route:' .. route
call('HDEL', state, 'walked', 'open', 'at', 'left', 'purge', 'purgedRecords', 'purgedLive', 'purgedDead')

local unshelved, last_page
unshelved, last_page, passed = unshelve_page(route, size, passed, now)
if not last_page then return { unshelved, 1, passed } end
if passed > 0 then return { unshelved, 0, 0 } end
call('ZREM', P .. 'orphans', route)
call('SREM', P .. 'resting', route)
call('DEL', P .. 'places:' .. route)
call('HDEL', state, 'shelved', 'name', 'uid')
return { unshelved, 0, 0 }
