-- Shared by every script. KEYS[1] is the tag with a trailing colon: all keys below it live in one Cluster slot.
local P = KEYS[1]
local call = redis.call

local MAX_LOG = 50          -- attempts kept of a copy
local MAX_UNKNOWN = 5       -- lost workers in a row before a copy is dead
local DEDICATED_MS = 10000  -- workers of one route that have been quiet for this long are gone
local MARK_MS = 2000        -- an expired lease is marked first and returned this much later
local HELD_MS = 3000        -- a destination that is being drained is looked at again after this
local FRESH_MS = 1000       -- … and one that just got work after this
local LOOK_MS = 86400000    -- what is kept for long is looked at this often: its route's retention may have been edited
local READER = 1            -- newest records this code reads
local BIN_MS = 86400000     -- what is discarded can be restored for this long
local UNREADABLE_MS = 60000 -- a record that only a newer Davit may read is looked at again after this

local function now_ms()
  local t = call('TIME')
  return t[1] * 1000 + math.floor(t[2] / 1000)
end

local function int(n) return string.format('%.0f', n) end

-- Writes that many entries of a call have in common are collected and made by one command a key: most of a script's time goes into calling commands.
-- `option`: of the command, before its members.
local batches, order, removals, gone, hints = {}, {}, {}, {}, {}
local function batch(command, key, option)
  local name = command .. key
  local list = batches[name]
  if not list then
    list = { command = command, key = key, option = option }
    batches[name] = list
    order[#order + 1] = list
  end
  return list
end

-- Makes the collected writes, in the order in which their keys came up, and tells of what was announced.
local function flush()
  for route, n in pairs(removals) do
    local key = P .. 'route:' .. route
    call('HINCRBY', key, 'removed', n)
    -- The highest sequence that is kept no more: a consumer that has seen less must learn of the gap.
    if gone[route] > tonumber(call('HGET', key, 'gone') or '0') then call('HSET', key, 'gone', int(gone[route])) end
  end
  for _, list in ipairs(order) do
    for from = 1, #list, 1000 do
      local last = math.min(from + 999, #list)
      if list.option then call(list.command, list.key, list.option, unpack(list, from, last)) else call(list.command, list.key, unpack(list, from, last)) end
    end
  end
  if #hints > 0 then call('PUBLISH', P .. 'hint', table.concat(hints, '\n')) end
  batches, order, removals, gone, hints = {}, {}, {}, {}, {}
end

-- A copy is one string: state fence attempt base unknown first since due revived token. Its parts stay text until somebody reckons with them:
-- Lua's number formatting costs more than the commands around it.
--   state   W waiting, R replayed (waits in `late`), A active, L delayed, S shelved; D delivered, X dead, C cancelled, I ignored, E expired, G discarded
--           (token `bin` while it can be restored; due is then its time of death)
--   fence   grows with each take      attempt  counted attempts     base  attempts before the last revival
--   unknown attempts in a row whose worker was lost                 first start of the budget, moved on by time spent in a lane
--   since   when it came into this state   due  of a delayed one    revived  time of the last revival   token  holder or -
local function read_copy(text)
  if not text then return nil end
  local s, f, n, b, u, first, since, due, revived, token =
    string.match(text, '^(%u) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+)$')
  return { state = s, fence = f, attempt = n, base = b, unknown = u, first = first, since = since, due = due, revived = revived, token = token }
end

local function write_copy(c)
  return c.state .. ' ' .. c.fence .. ' ' .. c.attempt .. ' ' .. c.base .. ' ' .. c.unknown .. ' ' .. c.first .. ' ' .. c.since .. ' ' .. c.due ..
    ' ' .. c.revived .. ' ' .. c.token
end

-- Metadata is three lines: "schema minReader route sequence receivedAt seq mode mark bodyHash", the destinations, and JSON for the reader.
--   mode  - no dedupe, m a mark, w a weak mark      mark  the field in `live` or `seen`
-- Returns nil when there is none; nil and true when there is one that only a newer Davit may read.
local function read_meta(text)
  if not text then return nil end
  local reader, route, sequence, at, mode, mark, hash, destinations =
    string.match(text, '^%d+ (%d+) (%x+) (%d+) (%d+) %d+ (.) (%S+) (%S+)\n([^\n]*)\n')
  if reader ~= '1' and not (reader and tonumber(reader) <= READER) then return nil, true end
  return { route = route, sequence = sequence, at = at, mode = mode, mark = mark, hash = hash, destinations = destinations }
end

-- The fields of a record. One that is no hash (somebody overwrote it) or that only a newer Davit may read is left alone, and must hold up nothing:
-- then the second value is true.
local function read_record(id, ...)
  local v = redis.pcall('HMGET', P .. 'e:' .. id, ...)
  if v.err then return {}, true end
  return v, false
end

local function meta_of(id)
  local v, odd = read_record(id, 'm')
  if odd then return nil, true end
  return read_meta(v[1])
end

local LIVE = { W = true, R = true, A = true, L = true, S = true }

-- Whether a final copy keeps its record's body, though it is not dead.
local function keeps_body(copy) return copy.state == 'C' or copy.state == 'E' or (copy.state == 'G' and copy.token == 'bin') end

-- The states of all copies: any live, any dead, any kept for its body's sake; when the last of them changed; whether one can be restored.
local function survey(id, meta)
  local fields = {}
  for d in string.gmatch(meta.destinations, '%S+') do fields[#fields + 1] = 'c:' .. d end
  local live, dead, kept, since, binned = false, false, false, 0, false
  if #fields > 0 then
    for _, text in ipairs(call('HMGET', P .. 'e:' .. id, unpack(fields))) do
      local c = read_copy(text or nil)
      if c then
        if LIVE[c.state] then live = true
        elseif c.state == 'X' then dead = true
        elseif keeps_body(c) then
          kept = true
          binned = binned or c.state == 'G'
        end
        since = math.max(since, tonumber(c.since))
      end
    end
  end
  return live, dead, kept, since, binned
end

-- Retention: a record, or a route as `r:<route>`, is looked at when its time comes.
local function look_later(member, at, now) return call('ZADD', P .. 'exp', int(math.min(at, now + LOOK_MS)), member) end

-- A destination is listed from its first ticket or config on. Once a day somebody looks whether it still has anything (`janitor`).
local function list_destination(d, now)
  local list, looks = batch('ZADD', P .. 'destinations'), batch('ZADD', P .. 'exp', 'NX')
  local n = #list
  list[n + 1], list[n + 2] = 0, d
  looks[n + 1], looks[n + 2] = int(now + LOOK_MS), 'd:' .. d
end

local function forget_dead(id, destination, route)
  local member = id .. '|' .. destination
  call('ZREM', P .. 'dead', member)
  call('ZREM', P .. 'dead:' .. destination, member)
  call('ZREM', P .. 'dead:' .. route, member)
end

-- `unsettled`: it has copies that are not delivered, and with them a mark in `live` and places among the dead.
local function remove_record(id, meta, unsettled)
  if unsettled then
    for d in string.gmatch(meta.destinations, '%S+') do forget_dead(id, d, meta.route) end
    local value = meta.mode == 'm' and call('HGET', P .. 'live', meta.mark)
    if value and string.sub(value, 1, 26) == id then call('HDEL', P .. 'live', meta.mark) end
  end
  call('DEL', P .. 'e:' .. id)
  local log = batch('ZREM', P .. 'log:' .. meta.route)
  log[#log + 1] = id
  removals[meta.route] = (removals[meta.route] or 0) + 1
  gone[meta.route] = math.max(gone[meta.route] or 0, tonumber(meta.sequence))
end

-- Removes what is due of a route's log, oldest first, at most `budget` records. One that cannot go yet (live or dead) is passed for good, one a call:
-- when it settles later, `finish` sees that the cursor is past it.
local function sweep(policy, budget, now)
  local log, state = P .. 'log:' .. policy.route, P .. 'route:' .. policy.route
  local over = call('ZCARD', log) - policy.maxEvents
  local oldest = (now - policy.deliveredMs) * 4096
  local cursor = call('HGET', state, 'cursor')
  local from = cursor and '(' .. cursor or '-inf'
  local passed, removed, page = nil, 0, 1
  while removed < budget do
    local rows = call('ZRANGEBYSCORE', log, from, '+inf', 'WITHSCORES', 'LIMIT', '0', page)
    for i = 1, #rows, 2 do
      local id, score = rows[i], rows[i + 1]
      if over <= 0 and tonumber(score) > oldest then return removed end
      local meta, odd = meta_of(id)
      local live, dead, kept = odd, false, false
      if meta then live, dead, kept = survey(id, meta) end
      if live or dead or kept then
        if passed then return removed end
        passed = int(tonumber(score))
        from = '(' .. passed
        call('HSET', state, 'cursor', passed)
      else
        if meta then remove_record(id, meta, false) else call('ZREM', log, id) end
        from = '(' .. int(tonumber(score))
        removed = removed + 1
        over = over - 1
      end
    end
    if #rows < 2 * page then return removed end
    page = math.min(budget, 32)
  end
  return removed
end

local seen_ready = {}
-- Moves a mark to the bucket of its receipt, which expires two windows later. `meta.at` is text.
local function mark_seen(id, meta, policy, now)
  local number = math.floor(meta.at / policy.windowMs)
  local ends = (number + 2) * policy.windowMs
  if ends <= now then return end
  local keys = policy.seen_keys
  if not keys then keys = {} policy.seen_keys = keys end
  local key = keys[number]
  if not key then
    key = P .. 'seen:' .. int(policy.windowMs) .. ':' .. int(number)
    keys[number] = key
  end
  local value = id .. ' ' .. meta.at .. ' ' .. meta.hash
  if not seen_ready[key] then
    seen_ready[key] = true
    call('HSET', key, meta.mark, value)
    if call('PTTL', key) < 0 then call('PEXPIREAT', key, int(ends)) end
    return
  end
  local list = batch('HSET', key)
  local n = #list
  list[n + 1], list[n + 2] = meta.mark, value
end

local logs = {}
local function log_of(policy)
  local l = logs[policy.route]
  if not l then
    l = { cursor = tonumber(call('HGET', P .. 'route:' .. policy.route, 'cursor') or '-1'),
      over = call('ZCARD', P .. 'log:' .. policy.route) - policy.maxEvents }
    logs[policy.route] = l
  end
  return l
end

-- After a copy came into a final state: what that means for the record. Most records have one copy, and then that state says it all.
local function finish(id, meta, policy, now, state)
  local live, dead, kept = false, state == 'X', state == 'C' or state == 'E'
  if string.find(meta.destinations, ' ', 1, true) then live, dead, kept = survey(id, meta) end
  if live then return end
  if dead then return look_later(id, now + policy.deadLettersMs, now) end
  if meta.mode == 'm' then
    mark_seen(id, meta, policy, now)
    local live_marks = batch('HDEL', P .. 'live')
    live_marks[#live_marks + 1] = meta.mark
  end
  if kept then return look_later(id, now + policy.deadLettersMs, now) end
  local log = log_of(policy)
  if tonumber(meta.sequence) <= log.cursor then
    local due = meta.at + policy.deliveredMs
    if log.over > 0 or due <= now then
      log.over = log.over - 1
      return remove_record(id, meta, false)
    end
    look_later(id, due, now)
  end
  if not policy.keepBodies then call('HDEL', P .. 'e:' .. id, 'b') end
end

local function bury(id, destination, meta, now)
  local member, at = id .. '|' .. destination, int(now)
  call('ZADD', P .. 'dead', at, member)
  call('ZADD', P .. 'dead:' .. destination, at, member)
  call('ZADD', P .. 'dead:' .. meta.route, at, member)
end

-- Which workers serve a destination: the route key of those of one route, '' of the shared ones. A route's own workers say that they are there with every
-- call of the janitor; DEDICATED_MS after the last of them its tickets are anybody's.
local function served_by(destination, now)
  local route = string.match(destination, '^(%x+)/')
  local seen = route and tonumber(call('ZSCORE', P .. 'dedicated', route) or nil)
  return seen and seen > now - DEDICATED_MS and route or ''
end

-- Says that a destination has (more) work. A held one's holder listens; for another one any worker writes the ticket. While its gate is shut nobody is
-- told: it is looked at when that ends, and a disabled one when it is enabled. All of a call go out as one message (`flush`), so that every worker makes the
-- same tickets of them.
local function announce(destination, slot, now)
  local g = call('HMGET', P .. 'gate:' .. destination, 'g', 'run', 'st')
  local generation = g[1] or '0'
  local held = g[2] == generation and '1' or '0'
  if g[3] then
    local state, ends = string.match(g[3], '^(%u) (%d+) ')
    if state == 'D' then return end
    if (state == 'W' or state == 'O') and tonumber(ends) > now then
      return call('ZADD', P .. 'busy', held == '1' and 'NX' or 'LT', int(ends + 1), destination)
    end
  end
  call('ZADD', P .. 'busy', held == '1' and 'NX' or 'LT', int(now + FRESH_MS), destination)
  hints[#hints + 1] = generation .. '#' .. slot .. '#' .. held .. '#' .. destination
end

-- Makes a dead copy live again under the same id, with a fresh budget. The fence grows, so that a repeated settle of the old life is refused.
local function revive(id, destination, meta, copy, key, state, now)
  forget_dead(id, destination, meta.route)
  call('ZREM', P .. 'exp', id)
  copy.fence, copy.base, copy.unknown = int(copy.fence + 1), copy.attempt, 0
  copy.state, copy.first, copy.since, copy.due, copy.revived, copy.token = state, 0, int(now), 0, int(now), '-'
  local place = key .. ':' .. destination
  if call('HEXISTS', P .. 'route:' .. meta.route, 'shelved') == 1 then copy.state, place = 'S', 'shelf:' .. meta.route end   -- its route is deleted
  call('HSET', P .. 'e:' .. id, 'c:' .. destination, write_copy(copy))
  call('ZADD', P .. place, meta.sequence, id)
end
