-- orphans: what lies on the shelves. Returns seven values a route: key, since (Unix ms), name, UID of its namespace, events on the shelf, dead letters, records.
local out = {}
local rows = call('ZRANGE', P .. 'orphans', 0, -1, 'WITHSCORES')
for i = 1, #rows, 2 do
  local route = rows[i]
  local names = call('HMGET', P .. 'route:' .. route, 'name', 'uid')
  for _, value in ipairs({ route, int(tonumber(rows[i + 1])), names[1] or '', names[2] or '', call('ZCARD', P .. 'shelf:' .. route),
    call('ZCARD', P .. 'dead:' .. route), call('ZCARD', P .. 'log:' .. route) }) do
    out[#out + 1] = value
  end
end
return out
