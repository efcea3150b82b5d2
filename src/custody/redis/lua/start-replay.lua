-- start-replay: creates a replay, unless there is one with this id. ARGV: id, index, filter (JSON), the end of its time range, copies a second, total.
-- Returns 1, or 0 when there is one.
call('ZREM', P .. 'busy', '')
local id, now = ARGV[1], int(now_ms())
local key = P .. 'replay:' .. id
if call('EXISTS', key) == 1 then return 0 end
for _, old in ipairs(call('ZRANGE', P .. 'replays', 0, 99)) do
  if call('EXISTS', P .. 'replay:' .. old) == 0 then call('ZREM', P .. 'replays', old) end
end
call('HSET', key, 'index', ARGV[2], 'filter', ARGV[3], 'to', ARGV[4], 'rate', ARGV[5], 'total', ARGV[6], 'state', 'running', 'replayed', 0, 'scanned', 0,
  'score', '', 'member', '', 'created', now, 'updated', now, 'paid', now)
call('ZADD', P .. 'replays', now, id)
call('ZADD', P .. 'replaying', now, id)
return 1
