-- settle-notices: a reader is done with notices; what no reader needs any more goes. ARGV: reader, ids. Returns how many it had.
local reader, settled = ARGV[1], 0
for i = 2, #ARGV do
  local id = ARGV[i]
  local d = destination_of(id)
  if d then call('HDEL', P .. 'notice-wait', reader .. ' ' .. d) end
  settled = settled + call('ZREM', P .. 'notices:' .. reader, id)
  call('HDEL', P .. 'notice-tries', reader .. ' ' .. id)
  local wanted = false
  for _, other in ipairs(READERS) do wanted = wanted or call('ZSCORE', P .. 'notices:' .. other, id) end
  if not wanted then drop_notice(id) end
end
return settled
