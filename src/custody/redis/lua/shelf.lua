-- Shared by the scripts of the shelf (custody: "Deleting and re-creating"), behind lib.lua.
-- route:<r> of a shelved route has: shelved (since, Unix ms), name, uid, and how far shelving came. Every live copy of it that is not on the shelf belongs
-- to a record whose sequence is at least `open`, or above `walked`:
--   walked  the log is shelved up to this sequence      open  the lowest sequence with an attempt that ran when it was passed
--   at, left  the same two of a walk that is not finished
-- The shelf of a route that is only suspended holds what `turn` met in lanes that several routes share. It has none of these fields: the route is in `resting`
-- until the janitor has emptied the shelf, once the route delivers again.
-- Places: orphans (routes by shelved), shelf:<r> (events by sequence), places:<r> (destinations whose gates go with the route), routes (all with records).
local MAX_COPIES = 256   -- looked at in one call

local function shelved_since(route) return tonumber(call('HGET', P .. 'route:' .. route, 'shelved')) end

local function names_of(meta)
  local names = {}
  for d in string.gmatch(meta.destinations, '%S+') do names[#names + 1] = d end
  return names
end

-- The copies of a record, in the order of its destinations.
local function copies_of(id, names)
  if #names == 0 then return {} end
  local fields, copies = {}, {}
  for i, d in ipairs(names) do fields[i] = 'c:' .. d end
  for i, text in ipairs(call('HMGET', P .. 'e:' .. id, unpack(fields))) do copies[i] = read_copy(text or nil) end
  return copies
end

local function leave_places(id, d)
  for _, place in ipairs({ 'lane:', 'late:', 'due:', 'lease:' }) do call('ZREM', P .. place .. d, id) end
end

-- Nothing is left of a destination that could ever be due: it is looked at no more.
local function rest_if_empty(d)
  for _, place in ipairs({ 'lane:', 'late:', 'due:', 'lease:' }) do
    if call('EXISTS', P .. place .. d) == 1 then return end
  end
  call('ZREM', P .. 'busy', d)
end

-- Puts a live copy that nobody holds onto the shelf. Its budget's clock stands still from now, or since it came into its lane.
local function put_on_shelf(id, d, copy, meta, now)
  call('ZADD', P .. 'shelf:' .. meta.route, meta.sequence, id)
  if copy.state == 'L' and tonumber(copy.due) > now then copy.since = int(now)
  elseif copy.state == 'L' then copy.since, copy.due = copy.due, '0' end
  copy.state = 'S'
  call('HSET', P .. 'e:' .. id, 'c:' .. d, write_copy(copy))
  leave_places(id, d)
end

-- … and back to where it was: delayed if its time has not come, else ready. What stood in `late` waits like any other.
local function take_from_shelf(id, d, copy, meta, now)
  if tonumber(copy.due) > now then
    if copy.first ~= '0' then copy.first = int(copy.first + math.max(0, now - copy.since)) end
    copy.state, copy.since = 'L', int(now)
    call('ZADD', P .. 'due:' .. d, copy.due, id)
  else
    copy.state, copy.due = 'W', '0'
    call('ZADD', P .. 'lane:' .. d, meta.sequence, id)
  end
  call('HSET', P .. 'e:' .. id, 'c:' .. d, write_copy(copy))
end

-- Puts a page of a route's shelf back, without the `passed` events at its beginning. Returns the copies that were, whether that was the last page, and the
-- events to pass over next time: those that only a newer Davit may read stay.
local function unshelve_page(route, size, passed, now)
  local shelf, unshelved, looked, touched = P .. 'shelf:' .. route, 0, 0, {}
  local ids = call('ZRANGE', shelf, passed, passed + size - 1)
  local last_page = #ids < size
  for i, id in ipairs(ids) do
    local meta, odd = meta_of(id)
    if meta then
      local names = names_of(meta)
      for k, copy in pairs(copies_of(id, names)) do
        if copy.state == 'S' then
          take_from_shelf(id, names[k], copy, meta, now)
          touched[names[k]] = true
          unshelved = unshelved + 1
        end
      end
      looked = looked + #names
    end
    if odd then passed = passed + 1 else call('ZREM', shelf, id) end
    if looked >= MAX_COPIES and i < #ids then
      last_page = false
      break
    end
  end
  for d in pairs(touched) do announce(d, 0, now) end
  flush()
  return unshelved, last_page, passed
end

-- Whether the attempt of an active copy may still end: its process has its lease. One that ran out is marked first and given up MARK_MS later, as in `turn`.
local function is_held(id, d, now)
  local key = P .. 'lease:' .. d
  local deadline = tonumber(call('ZSCORE', key, id))
  if not deadline then return false end
  if deadline > now then return true end
  if deadline > 0 then
    call('ZADD', key, int(-now), id)
    return true
  end
  return MARK_MS - deadline > now
end

-- The worker of this copy is gone. Its outcome is still accepted while the copy lies on the shelf: `unknown` says that it came there so.
local function give_up_lease(id, d, copy, now)
  call('HSET', P .. 'e:' .. id, 'a:' .. d .. ':' .. copy.attempt, cjson.encode({ attempt = tonumber(copy.attempt), at = tonumber(copy.since),
    action = 'unknown', error = 'the worker was lost; whether the destination got the request is not known' }))
  copy.unknown, copy.since, copy.due, copy.token = int(copy.unknown + 1), int(now), '0', '-'
end

-- The page of a route's log behind a position ('' is its beginning). Returns rows of id and sequence, and whether the log ends here.
local function log_page(route, position, size)
  local rows = call('ZRANGEBYSCORE', P .. 'log:' .. route, position == '' and '-inf' or position, '+inf', 'WITHSCORES', 'LIMIT', 0, size)
  return rows, #rows < 2 * size
end

-- Everything the store still knows of a route that has no records left.
local function forget_route(route)
  for _, d in ipairs(call('SMEMBERS', P .. 'places:' .. route)) do
    if string.sub(d, 1, #route + 1) == route .. '/' then
      for _, place in ipairs({ 'gate:', 'lane:', 'late:', 'due:', 'lease:', 'dead:' }) do call('DEL', P .. place .. d) end
      call('ZREM', P .. 'busy', d)
      call('ZREM', P .. 'destinations', d)
      call('ZREM', P .. 'exp', 'd:' .. d)
    end
  end
  for _, place in ipairs({ 'places:', 'shelf:', 'log:', 'dead:', 'rejected:', 'route:' }) do call('DEL', P .. place .. route) end
  -- Not below the tag: the workers of a namespace may not read them. See `handshakesKey`.
  call('DEL', (string.gsub(P, '}', '}handshakes{}', 1)) .. route)
  call('ZREM', P .. 'exp', 'r:' .. route)
  call('ZREM', P .. 'dedicated', route)
  call('SREM', P .. 'routes', route)
  call('SREM', P .. 'resting', route)
  call('ZREM', P .. 'orphans', route)
end
