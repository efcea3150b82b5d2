-- steer-replay: pauses, resumes or cancels a replay. One that ended stays as it is. ARGV: id, paused | running | cancelled, ms it is known after its end.
-- Returns 0 when there is none.
call('ZREM', P .. 'busy', '')
local id, to, now = ARGV[1], ARGV[2], int(now_ms())
local key = P .. 'replay:' .. id
local state = call('HGET', key, 'state')
if not state then return 0 end
if state == to or state == 'done' or state == 'cancelled' then return 1 end
call('HSET', key, 'state', to, 'updated', now)
if to == 'running' then call('ZADD', P .. 'replaying', now, id) else call('ZREM', P .. 'replaying', id) end
if to == 'cancelled' then call('PEXPIRE', key, ARGV[3]) end
return 1
