-- destinations: a page of the namespace's destinations, by id. ARGV: the last one of the page before ('' at first), size of the page.
-- Returns their ids. Those that have work and never had a ticket, since no worker runs, come into the list by being asked for.
call('ZREM', P .. 'busy', '')
local names = P .. 'destinations'
if ARGV[1] == '' then
  for _, d in ipairs(call('ZRANGE', P .. 'busy', 0, 999)) do
    if not call('ZSCORE', names, d) then list_destination(d, now_ms()) end
  end
  flush()
end
return call('ZRANGE', names, ARGV[1] == '' and '-' or '(' .. ARGV[1], '+', 'BYLEX', 'LIMIT', 0, ARGV[2])
