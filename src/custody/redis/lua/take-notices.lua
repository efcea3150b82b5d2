-- take-notices: hands notices to a reader, which holds them for a while. ARGV: reader, most of them, how long it holds them, ms.
-- Returns three values each: id, how often it was handed out with this time, JSON.
local reader, now = ARGV[1], now_ms()
-- Only what changes something is written: a reader asks again and again.
call('HSETNX', P .. 'notice-readers', reader, '1')
drop_entries(call('ZRANGEBYSCORE', P .. 'notices', '-inf', int((now - NOTICE_MS) * 4096), 'LIMIT', 0, 100))
local out = {}
for _, id in ipairs(call('ZRANGEBYSCORE', P .. 'notices:' .. reader, '-inf', int(now), 'LIMIT', 0, ARGV[2])) do
  local entry = call('ZRANGEBYSCORE', P .. 'notices', id, id)[1]
  if not entry then drop_notice(id)
  else
    call('ZADD', P .. 'notices:' .. reader, int(now + tonumber(ARGV[3])), id)
    out[#out + 1] = id
    out[#out + 1] = call('HINCRBY', P .. 'notice-tries', reader .. ' ' .. id, 1)
    out[#out + 1] = string.sub(entry, #id + 2)
    call('PEXPIRE', P .. 'notice-tries', FORGOTTEN_MS)
  end
end
return out
