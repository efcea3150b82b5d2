-- statistics: what the store knows of each destination in ARGV. Returns the store's time, then for each: { ready, replayed, delayed, active, dead, receipt of the
-- oldest waiting copy, receipt of the oldest delayed copy and time of the last delivery (Unix ms, 0 when there is none), state of its gate, seq and text of its
-- config ('' when there is none), and the counts of yesterday's and today's hours, as `turn` writes them }.
local now = now_ms()
local today = math.floor(now / 86400000)

local function oldest_in(key)
  local head = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
  return head and math.floor(tonumber(head) / 4096) or math.huge
end

local function oldest_delayed(key)
  local first = call('ZRANGE', key, 0, 0)[1]
  local meta = first and meta_of(first)
  return meta and meta.at or '0'
end

local out = { int(now) }
for _, d in ipairs(ARGV) do
  local lane, late, due = P .. 'lane:' .. d, P .. 'late:' .. d, P .. 'due:' .. d
  local ready, oldest = call('ZCOUNT', due, '-inf', int(now)), math.min(oldest_in(lane), oldest_in(late))
  local gate = call('HMGET', P .. 'gate:' .. d, 'delivered', 'st', 'cs', 'cfg')
  out[#out + 1] = {
    call('ZCARD', lane) + ready, call('ZCARD', late), call('ZCARD', due) - ready, call('ZCARD', P .. 'lease:' .. d), call('ZCARD', P .. 'dead:' .. d),
    oldest == math.huge and '0' or int(oldest), oldest_delayed(due), gate[1] or '0', gate[2] or '', gate[3] or '', gate[4] or '',
    call('HGETALL', P .. 'hours:' .. int(today - 1) .. ':' .. d), call('HGETALL', P .. 'hours:' .. int(today) .. ':' .. d),
  }
end
return out
