-- keep-handshake: keeps a secret that a provider handed over, the first and the newest of its route. KEYS[1]: the route's sorted set, by time. Stands alone: the set
-- is not below the tag.
-- ARGV: time, member (JSON with `from`: whom its client counts as), how long secrets are kept in ms, how many.
-- A member {"dropped":n} at the end (score +inf) counts those that had to go.
local key, at, keep, most = KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[3]), tonumber(ARGV[4])

redis.call('ZADD', key, ARGV[1], ARGV[2])
redis.call('ZREMRANGEBYSCORE', key, '-inf', string.format('%.0f', at - keep))
local rows = redis.call('ZRANGEBYSCORE', key, '-inf', '(inf')
local counter = redis.call('ZRANGEBYSCORE', key, 'inf', 'inf')[1]
local dropped = counter and #rows > 1 and cjson.decode(counter).dropped or 0

-- The one in the middle goes: of a client with more than two, else of all. So nobody drives out what came before him and what comes after him.
local function surplus()
  local places, largest = {}, nil
  for place, row in ipairs(rows) do
    local from = cjson.decode(row).from or ''
    local own = places[from] or {}
    own[#own + 1] = place
    places[from] = own
    if #own > 2 and (not largest or #own > #largest) then largest = own end
  end
  if not largest then return math.floor(#rows / 2) + 1 end
  return largest[math.floor(#largest / 2) + 1]
end

while #rows > most do
  redis.call('ZREM', key, table.remove(rows, surplus()))
  dropped = dropped + 1
end
if counter then redis.call('ZREM', key, counter) end
if dropped > 0 then redis.call('ZADD', key, 'inf', cjson.encode({ dropped = dropped })) end
redis.call('PEXPIRE', key, keep)
return dropped
