-- walk-log: lists events of a route, or cancels copies of theirs, that fit a filter, a page of its log a call.
-- ARGV: list | count | cancel, route, filter (JSON: destination, eventType, states, from and to as sequences), asc | desc, position (a sequence, '' at first),
-- events to look at, events (of `list`) at most.
-- Returns { the end of the range, the position to go on from, 1 when there is more, copies, copies with a running attempt, events that cannot be read,
-- the highest sequence that is kept no more, the last one before the route's first, the last one given out, for `list` pairs of id and sequence }.
local action, route, filter, ascending = ARGV[1], ARGV[2], cjson.decode(ARGV[3]), ARGV[4] == 'asc'
local position, budget, limit, now = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), now_ms()
if action == 'cancel' then call('ZREM', P .. 'busy', '') end
local log, top = P .. 'log:' .. route, int(math.min(filter.to or math.huge, (now + 1) * 4096 - 1))
if action == 'list' then top = filter.to and int(filter.to) or '+inf' end
local copies, active, unreadable, found, events = 0, 0, 0, {}, 0

local function fits_state(copy) return not filter.states or string.find(filter.states, copy.state, 1, true) end

-- Copies of a record that fit, each with its destination. A record without any is `ignored`.
local function matching(id, meta)
  local list, names = {}, {}
  for d in string.gmatch(meta.destinations, '%S+') do
    if not filter.destination or filter.destination == d then names[#names + 1] = d end
  end
  for _, d in ipairs(names) do
    local copy = read_copy(call('HGET', P .. 'e:' .. id, 'c:' .. d) or nil)
    if copy and fits_state(copy) then list[#list + 1] = { d, copy } end
  end
  local alone = meta.destinations == '' and not filter.destination and (not filter.states or string.find(filter.states, 'I', 1, true))
  return list, #list > 0 or alone
end

local function look_at(id, sequence)
  local v, odd = read_record(id, 'm')
  local meta, newer = read_meta(v[1] or nil)
  if odd or newer then unreadable = unreadable + 1 end
  if not meta or not fits(filter.eventType, filter.eventType and type_of(v[1])) then return end
  local list, is_one = matching(id, meta)
  if action == 'list' then
    if is_one then
      events = events + 1
      found[#found + 1], found[#found + 2] = id, sequence
    end
    return
  end
  for _, pair in ipairs(list) do
    local d, copy = pair[1], pair[2]
    if copy.state == 'A' then active = active + 1
    elseif CANCELLABLE[copy.state] then
      copies = copies + 1
      if action == 'cancel' then cancel(id, d, meta, copy, now) end
    end
  end
end

local low = filter.from and int(filter.from) or '-inf'
if position ~= '' and ascending then low = '(' .. position end
if position ~= '' and not ascending then top = '(' .. position end
local rows
if ascending then rows = call('ZRANGEBYSCORE', log, low, top, 'WITHSCORES', 'LIMIT', 0, budget)
else rows = call('ZREVRANGEBYSCORE', log, top, low, 'WITHSCORES', 'LIMIT', 0, budget) end
local looked = 0
for i = 1, #rows, 2 do
  position = int(tonumber(rows[i + 1]))
  look_at(rows[i], position)
  looked = looked + 1
  if events >= limit then break end
end
local more = (2 * looked < #rows or looked == budget) and 1 or 0
local facts = call('HMGET', P .. 'route:' .. route, 'gone', 'born', 'seq')
return { int(tonumber(top) or 0), position, more, copies, active, unreadable, facts[1] or '0', facts[2] or '0', facts[3] or '0', found }
