-- postpone-notice: hand a notice out again after a while, whoever holds it. ARGV: reader, id, ms. One that is settled stays so.
return call('ZADD', P .. 'notices:' .. ARGV[1], 'XX', 'CH', int(now_ms() + tonumber(ARGV[3])), ARGV[2])
