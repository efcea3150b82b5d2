-- start-replay: creates a replay, unless there is one with this id. ARGV: id, index, filter (JSON), the end of its time range, copies a second, total, its owner
-- or '', 1 when there may be more than the total.
-- Returns 1, or 0 when there is one.
call('ZREM', P .. 'busy', '')
local id, now = ARGV[1], int(now_ms())
local key = P .. 'replay:' .. id
if call('EXISTS', key) == 1 then return 0 end
local owner = ARGV[7]
local lists = { P .. 'replays' }
if owner ~= '' then lists[2] = P .. 'replays:' .. owner end
for _, list in ipairs(lists) do
  for _, old in ipairs(call('ZRANGE', list, 0, 99)) do
    if call('EXISTS', P .. 'replay:' .. old) == 0 then call('ZREM', list, old) end
  end
end
call('HSET', key, 'index', ARGV[2], 'filter', ARGV[3], 'to', ARGV[4], 'rate', ARGV[5], 'total', ARGV[6], 'state', 'running', 'replayed', 0, 'scanned', 0,
  'score', '', 'member', '', 'created', now, 'updated', now, 'paid', now)
if owner ~= '' then call('HSET', key, 'owner', owner) end
if ARGV[8] == '1' then call('HSET', key, 'least', 1) end
for _, list in ipairs(lists) do call('ZADD', list, now, id) end
call('ZADD', P .. 'replaying', now, id)
return 1
