-- postpone-notice: hand a notice out again after a while, whoever holds it. ARGV: reader, id, ms. One that is settled stays so.
local reader, id, due = ARGV[1], ARGV[2], int(now_ms() + tonumber(ARGV[3]))
if call('ZADD', P .. 'notices:' .. reader, 'XX', 'CH', due, id) == 0 then return 0 end
local d = destination_of(id)
if not d then return 1 end
call('HSET', P .. 'notice-wait', reader .. ' ' .. d, due)
call('PEXPIRE', P .. 'notice-wait', FORGOTTEN_MS)
return 1
