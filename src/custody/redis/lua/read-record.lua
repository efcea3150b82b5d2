-- read-record: an event's record without its body, which is large and of no use in a list. ARGV: id.
-- Returns the body's size, then fields and values; nothing else when there is no such record.
local key = P .. 'e:' .. ARGV[1]
local names, out = {}, { call('HSTRLEN', key, 'b') }
for _, name in ipairs(call('HKEYS', key)) do
  if name ~= 'b' then names[#names + 1] = name end
end
if #names == 0 then return out end
for i, value in ipairs(call('HMGET', key, unpack(names))) do
  out[#out + 1] = names[i]
  out[#out + 1] = value
end
return out
