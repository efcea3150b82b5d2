-- walk-dead: lists, counts, discards or restores copies that fit a filter, a page of their index a call.
-- ARGV: list | count | discard | restore, name of the index, filter (JSON), position (score and member, '' at first), rows to look at, copies at most.
-- Returns { the end of the time range, rows looked at, copies, position of the next page ('' and '' at the end), for `list` their rows and times of death }.
local action, filter, now = ARGV[1], cjson.decode(ARGV[3]), now_ms()
if action == 'discard' or action == 'restore' then call('ZREM', P .. 'busy', '') end
local to = math.min(filter.to or now, now)
local found = {}

local ACT = {
  list = function(row)
    local id, _, _, copy = copy_at(row, 'X', filter)
    if not id then return false end
    found[#found + 1], found[#found + 2] = row, copy.since
    return true
  end,
  count = function(row) return copy_at(row, 'X', filter) ~= nil end,
  discard = function(row)
    local id, d, meta, copy = copy_at(row, 'X', filter)
    if id then discard(id, d, meta, copy, now) end
    return id ~= nil
  end,
  -- The index is by the time they were discarded; the filter speaks of their death.
  restore = function(row)
    local id, d, meta, copy = copy_at(row, 'G', filter)
    if not id or copy.token ~= 'bin' or tonumber(copy.due) > to or tonumber(copy.due) < (filter.from or 0) then return false end
    restore(id, d, meta, copy, now)
    return true
  end,
}
local range = action == 'restore' and { to = now } or { from = filter.from, to = to }
local scanned, matched, score, member = walk(P .. ARGV[2], ARGV[4], ARGV[5], range, tonumber(ARGV[6]), tonumber(ARGV[7]), ACT[action])
return { int(to), scanned, matched, score, member, found }
