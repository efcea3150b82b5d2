-- replay: makes the dead copies of one event live again. ARGV: id, destination or '' for all. Returns how many.
call('ZREM', P .. 'busy', '')
local id, only, now = ARGV[1], ARGV[2], now_ms()
local meta = meta_of(id)
if not meta then return 0 end
local count = 0
for d in string.gmatch(meta.destinations, '%S+') do
  if only == '' or only == d then
    local copy = read_copy(call('HGET', P .. 'e:' .. id, 'c:' .. d))
    if copy and copy.state == 'X' then
      revive(id, d, meta, copy, 'late', 'R', now)
      announce(d, 0, now)
      count = count + 1
    end
  end
end
flush()
if count > 0 then call('HINCRBY', P .. 'tally', 'replayed ' .. meta.route, count) end
return count
