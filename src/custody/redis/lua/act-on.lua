-- act-on: discards, restores or cancels the copies of one event. ARGV: discard | restore | cancel, id, destination or '' for all.
-- Returns { copies, copies with a running attempt }.
call('ZREM', P .. 'busy', '')
local action, id, only, now = ARGV[1], ARGV[2], ARGV[3], now_ms()
local IS = {
  discard = function(copy) return copy.state == 'X' end,
  restore = function(copy) return copy.state == 'G' and copy.token == 'bin' end,
  cancel = function(copy) return CANCELLABLE[copy.state] end,
}
local ACT = { discard = discard, restore = restore, cancel = cancel }
local meta, done, active = meta_of(id), 0, 0
if not meta then return { 0, 0 } end
for d in string.gmatch(meta.destinations, '%S+') do
  local copy = (only == '' or only == d) and read_copy(call('HGET', P .. 'e:' .. id, 'c:' .. d) or nil)
  if copy and IS[action](copy) then
    ACT[action](id, d, meta, copy, now)
    done = done + 1
  elseif copy and copy.state == 'A' then active = active + 1 end
end
return { done, active }
