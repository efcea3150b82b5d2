-- Shared by the scripts of the operations API (custody: "Dead letters, log, replay"), behind lib.lua.
--   bin            discarded copies that can be restored, "id|destination" by the time they were discarded; each is in `exp` as "b:id|destination" too
--   replay:<id>    a replay of many      replays  all of them by time of creation      replaying  running ones by when they go on
--   tally          what was done, until the janitor has it counted

-- Whether a text fits a pattern: a text, or the beginning of one with * at its end. No pattern: always.
local function fits(pattern, text)
  if not pattern then return true end
  if string.sub(pattern, -1) ~= '*' then return text == pattern end
  return text and string.sub(text, 1, #pattern - 1) == string.sub(pattern, 1, -2)
end

local function type_of(text)
  local json = string.match(text, '^[^\n]*\n[^\n]*\n(.*)$')
  return json and cjson.decode(json).t
end

local function reason_of(id, d, copy)
  local text = call('HGET', P .. 'e:' .. id, 'a:' .. d .. ':' .. copy.attempt)
  return text and cjson.decode(text).reason
end

local function place_in_row(key, score, member)
  local now_at = call('ZSCORE', key, member)
  if now_at and tonumber(now_at) == score then return call('ZRANK', key, member) + 1 end
  -- It is gone: behind everything older, and behind those of its own millisecond that come before it.
  local place = call('ZCOUNT', key, '-inf', '(' .. int(score))
  while true do
    local row = call('ZRANGE', key, place, place, 'WITHSCORES')
    if not row[1] or tonumber(row[2]) ~= score or row[1] > member then return place end
    place = place + 1
  end
end

-- Walks an index of copies ("id|destination" by time) from behind a position (score '' is its beginning) to a time, over at most `budget` rows, and until `act`
-- has said true `limit` times. Returns rows looked at, times it said so, and the position, whose score is '' at the end.
local function walk(key, score, member, range, budget, limit, act)
  local from = score ~= '' and place_in_row(key, tonumber(score), member) or call('ZCOUNT', key, '-inf', '(' .. int(range.from or 0))
  local rows = call('ZRANGE', key, from, from + budget - 1, 'WITHSCORES')
  local scanned, matched = 0, 0
  for i = 1, #rows, 2 do
    local at = tonumber(rows[i + 1])
    if at > range.to then return scanned, matched, '', '' end
    scanned = scanned + 1
    score, member = int(at), rows[i]
    if act(member) then matched = matched + 1 end
    if matched >= limit then break end
  end
  if scanned * 2 == #rows and scanned < budget then score, member = '', '' end
  return scanned, matched, score, member
end

-- The copy of a row in `state`, when it fits the filter.
local function copy_at(row, state, filter)
  local id, d = string.match(row, '^([^|]+)|(.*)$')
  if not id or (filter.destination and filter.destination ~= d) then return nil end
  local v = read_record(id, 'm', 'c:' .. d)
  local meta, copy = read_meta(v[1] or nil), read_copy(v[2] or nil)
  if not meta or not copy or copy.state ~= state or (filter.route and filter.route ~= meta.route) then return nil end
  if filter.eventType and not fits(filter.eventType, type_of(v[1])) then return nil end
  if filter.reason and not fits(filter.reason, reason_of(id, d, copy)) then return nil end
  return id, d, meta, copy
end

local function write(id, d, copy) call('HSET', P .. 'e:' .. id, 'c:' .. d, write_copy(copy)) end

local function look_now(id, now) call('ZADD', P .. 'exp', int(now), id) end

-- Each of these changes one copy that is in its state, so that the outcome of an attempt that is settled late is refused.
local function discard(id, d, meta, copy, now)
  forget_dead(id, d, meta.route)
  copy.fence, copy.state, copy.due, copy.since, copy.token = int(copy.fence + 1), 'G', copy.since, int(now), 'bin'
  write(id, d, copy)
  call('ZADD', P .. 'bin', int(now), id .. '|' .. d)
  call('ZADD', P .. 'exp', int(now + BIN_MS), 'b:' .. id .. '|' .. d)
end

local function restore(id, d, meta, copy, now)
  call('ZREM', P .. 'bin', id .. '|' .. d)
  call('ZREM', P .. 'exp', 'b:' .. id .. '|' .. d)
  copy.fence, copy.state, copy.since, copy.due, copy.token = int(copy.fence + 1), 'X', copy.due, '0', '-'
  write(id, d, copy)
  bury(id, d, meta, tonumber(copy.since))
  look_now(id, now)
end

local CANCELLABLE = { W = true, R = true, L = true, S = true }

local function cancel(id, d, meta, copy, now)
  for _, place in ipairs({ 'lane:', 'late:', 'due:' }) do call('ZREM', P .. place .. d, id) end
  local shelved = copy.state == 'S'
  copy.fence, copy.state, copy.since, copy.due, copy.token = int(copy.fence + 1), 'C', int(now), '0', '-'
  write(id, d, copy)
  look_now(id, now)
  if not shelved then return end
  for other in string.gmatch(meta.destinations, '%S+') do
    local one = read_copy(call('HGET', P .. 'e:' .. id, 'c:' .. other) or nil)
    if one and one.state == 'S' then return end
  end
  call('ZREM', P .. 'shelf:' .. meta.route, id)
end

local function count_replayed(route, n) call('HINCRBY', P .. 'tally', 'replayed ' .. route, n) end
