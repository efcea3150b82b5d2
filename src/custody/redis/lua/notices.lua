-- Shared by the scripts that write, hand out and settle notices of destinations, behind lib.lua.
--   notices            JSON of each by its id, which is about Unix ms × 4096, so that it only grows
--   notices:<reader>   ids that the reader has not settled, by when it may have them
--   notice-readers     readers that ever asked, each with `1`; `last`: the newest id
--   notice-tries       "<reader> <id>": how often it was handed out
--   notice-wait        "<reader> <destination>": until when an earlier notice of it is postponed, so that no later one overtakes it
local MOST_NOTICES = 10000
local NOTICE_MS = 604800000      -- kept no longer than this
local FORGOTTEN_MS = 691200000   -- keys that nobody writes to any more go by themselves
local READERS = { 'events', 'webhook', 'email' }

local function drop_notice(id)
  call('ZREMRANGEBYSCORE', P .. 'notices', id, id)
  for _, reader in ipairs(READERS) do
    call('ZREM', P .. 'notices:' .. reader, id)
    call('HDEL', P .. 'notice-tries', reader .. ' ' .. id)
  end
end

-- The ids of entries, of which each is an id and JSON.
local function drop_entries(entries)
  for _, entry in ipairs(entries) do drop_notice(string.match(entry, '^%d+')) end
end

-- Of which destination a notice is; nil when it is gone.
local function destination_of(id)
  local entry = call('ZRANGEBYSCORE', P .. 'notices', id, id)[1]
  return entry and cjson.decode(string.sub(entry, #id + 2)).destination
end

-- Keeps a notice for each reader that ever asked; without one nobody is told.
local function keep_notice(notice, now)
  local asked = call('HMGET', P .. 'notice-readers', 'last', unpack(READERS))
  if not (asked[2] or asked[3] or asked[4]) then return end
  local id = int(math.max(now * 4096, tonumber(asked[1] or '0') + 1))
  call('HSET', P .. 'notice-readers', 'last', id)
  call('ZADD', P .. 'notices', id, id .. ' ' .. cjson.encode(notice))
  call('PEXPIRE', P .. 'notices', FORGOTTEN_MS)
  for i, reader in ipairs(READERS) do
    if asked[i + 1] then
      local wait = tonumber(call('HGET', P .. 'notice-wait', reader .. ' ' .. notice.destination) or '0')
      call('ZADD', P .. 'notices:' .. reader, int(math.max(now, wait + 1)), id)
      call('PEXPIRE', P .. 'notices:' .. reader, FORGOTTEN_MS)
    end
  end
  local over = call('ZCARD', P .. 'notices') - MOST_NOTICES
  if over > 0 then drop_entries(call('ZRANGE', P .. 'notices', 0, over - 1)) end
end
