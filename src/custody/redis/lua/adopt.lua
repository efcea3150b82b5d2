-- adopt: gives the records of a shelved route to another one, a page of its log a call. ARGV: from, to, page size, position ('' at first).
-- Returns { -1 } when `from` is not shelved, else { records moved, records left behind, position of the next page or '' }.
call('ZREM', P .. 'busy', '')
local from, to, now = ARGV[1], ARGV[2], now_ms()
if not shelved_since(from) then return { -1 } end
local target, shelving = P .. 'route:' .. to, shelved_since(to)
local sequence = tonumber(call('HGET', P .. 'route:' .. from, 'seq') or '0')
call('SADD', P .. 'routes', to)
sequence = int(math.max(tonumber(call('HGET', target, 'seq') or '0'), sequence))
call('HSET', target, 'seq', sequence)
if ARGV[4] == '' then call('HSET', target, 'gone', sequence) end   -- consumers that page by sequence have passed what comes: they must list anew
if not call('ZSCORE', P .. 'exp', 'r:' .. to) then look_later('r:' .. to, now, now) end

local function renamed(d) return string.sub(d, 1, #from + 1) == from .. '/' and to .. string.sub(d, #from + 1) or d end

-- Names of the record's fields hold the route: one command writes the new ones, so that it is always wholly one route's or the other's.
local function rename(id, meta, text)
  local key = P .. 'e:' .. id
  local names, old, write = names_of(meta), {}, {}
  for _, d in ipairs(names) do
    if renamed(d) ~= d then old['c:' .. d] = 'c:' .. renamed(d) end
  end
  local fields = {}
  for _, field in ipairs(call('HKEYS', key)) do
    local d, n = string.match(field, '^a:(%S+):(%d+)$')
    local new = old[field] or (d and renamed(d) ~= d and 'a:' .. renamed(d) .. ':' .. n)
    if new then
      fields[#fields + 1] = field
      write[#write + 1] = new
      write[#write + 1] = call('HGET', key, field)
    end
  end
  local head, rest = string.match(text, '^(%d+ %d+ )%x+( [^\n]*\n)')
  local destinations = {}
  for i, d in ipairs(names) do destinations[i] = renamed(d) end
  local json = string.sub(text, #head + #from + #rest + #meta.destinations + 1)
  write[#write + 1] = 'm'
  write[#write + 1] = head .. to .. rest .. table.concat(destinations, ' ') .. json
  call('HSET', key, unpack(write))
  if #fields > 0 then call('HDEL', key, unpack(fields)) end
end

-- The dead are listed by names: those of the new route come before the old ones go.
local function rename_dead(id, d, meta)
  local score = call('ZSCORE', P .. 'dead', id .. '|' .. d)
  if not score then return end
  local new = renamed(d)
  bury(id, new, { route = to }, score)
  if new ~= d then forget_dead(id, d, from)
  else call('ZREM', P .. 'dead:' .. from, id .. '|' .. d) end
end

-- What was discarded can be restored under its new name.
local function rename_discarded(id, d)
  local old, new = id .. '|' .. d, id .. '|' .. renamed(d)
  local at = call('ZSCORE', P .. 'bin', old)
  if not at or old == new then return end
  call('ZADD', P .. 'bin', at, new)
  call('ZADD', P .. 'exp', int(at + BIN_MS), 'b:' .. new)
  call('ZREM', P .. 'bin', old)
  call('ZREM', P .. 'exp', 'b:' .. old)
end

local touched = {}
-- Copies of a record that has its new names into their places.
local function settle_in(id)
  local meta = meta_of(id)
  local names = names_of(meta)
  if not call('ZSCORE', P .. 'log:' .. to, id) then
    -- Pages go by sequence, so that no two may be equal.
    local place = tonumber(meta.sequence)
    while call('ZCOUNT', P .. 'log:' .. to, int(place), int(place)) > 0 do place = place + 1 end
    call('ZADD', P .. 'log:' .. to, int(place), id)
  end
  look_later(id, now, now)   -- the new route's retention is reckoned by the janitor
  for k, copy in pairs(copies_of(id, names)) do
    if copy.state == 'S' then
      if shelving then call('ZADD', P .. 'shelf:' .. to, meta.sequence, id)
      else
        take_from_shelf(id, names[k], copy, meta, now)
        touched[names[k]] = true
      end
    end
  end
end

local moved, left, position, looked = 0, 0, ARGV[4], 0
local function move(id)
  local text = read_record(id, 'm')[1]
  local meta, odd = meta_of(id)
  if odd then left = left + 1 return end
  if meta and meta.route == from then
    local names = names_of(meta)
    looked = looked + #names
    local copies = copies_of(id, names)
    for _, copy in pairs(copies) do
      if LIVE[copy.state] and copy.state ~= 'S' then left = left + 1 return end
    end
    for k, copy in pairs(copies) do
      call('SADD', P .. 'places:' .. from, names[k])
      if copy.state == 'X' then rename_dead(id, names[k], meta)
      elseif copy.state == 'G' then rename_discarded(id, names[k]) end
    end
    rename(id, meta, text)
  end
  if meta then settle_in(id) moved = moved + 1 end
  call('ZREM', P .. 'shelf:' .. from, id)
  call('ZREM', P .. 'log:' .. from, id)
end

local rows, last_page = log_page(from, position == '' and '' or '(' .. position, tonumber(ARGV[3]))
for i = 1, #rows, 2 do
  move(rows[i])
  position = int(tonumber(rows[i + 1]))
  if looked >= MAX_COPIES and i + 2 <= #rows then
    last_page = false
    break
  end
end
for d in pairs(touched) do announce(d, 0, now) end
flush()
if not last_page then return { moved, left, position } end
if call('EXISTS', P .. 'log:' .. from) == 0 then forget_route(from) end
return { moved, left, '' }
