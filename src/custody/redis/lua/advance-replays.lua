-- advance-replays: makes the next dead letters of a running replay live again, under a lease: one process does it, and whoever comes after it goes on from the
-- position in the record, which is written with the copies. ARGV: token, lease ms, copies at most, ms a replay is known after its end.
-- Returns {} when another process has the lease, { -1 } when nothing runs, else { ms until the next call, copies }.
call('ZREM', P .. 'busy', '')
local lease, page, now = P .. 'replay-lease', tonumber(ARGV[3]), now_ms()
local holder = call('GET', lease)
if holder and holder ~= ARGV[1] then return {} end
local head = call('ZRANGE', P .. 'replaying', 0, 0, 'WITHSCORES')
if not head[1] then
  call('DEL', lease)
  return { -1 }
end
call('SET', lease, ARGV[1], 'PX', ARGV[2])
if tonumber(head[2]) > now then return { int(head[2] - now), 0 } end

local id = head[1]
local key = P .. 'replay:' .. id
local r = call('HMGET', key, 'state', 'index', 'filter', 'to', 'rate', 'score', 'member', 'paid')
if r[1] ~= 'running' then
  call('ZREM', P .. 'replaying', id)
  return { 0, 0 }
end
local filter, rate = cjson.decode(r[3]), tonumber(r[5])
-- What the rate allows: the time up to which copies are paid for, which lags at most a second behind.
local paid = math.max(tonumber(r[8]), now - 1000)
local allowed = math.min(page, math.floor((now - paid) * rate / 1000))
local scanned, revived, score, member = 0, 0, r[6], r[7]
local touched, routes = {}, {}
if allowed > 0 then
  scanned, revived, score, member = walk(P .. r[2], score, member, { from = filter.from, to = tonumber(r[4]) }, 5 * page, allowed, function(row)
    local event, d, meta, copy = copy_at(row, 'X', filter)
    if not event then return false end
    revive(event, d, meta, copy, 'late', 'R', now)
    touched[d] = true
    routes[meta.route] = (routes[meta.route] or 0) + 1
    return true
  end)
  for d in pairs(touched) do announce(d, 0, now) end
  flush()
  for route, n in pairs(routes) do count_replayed(route, n) end
  paid = paid + revived * 1000 / rate
  call('HINCRBY', key, 'replayed', revived)
  call('HINCRBY', key, 'scanned', scanned)
  call('HSET', key, 'score', score, 'member', member, 'paid', string.format('%.3f', paid), 'updated', int(now))
  if score == '' then
    call('HSET', key, 'state', 'done')
    call('ZREM', P .. 'replaying', id)
    call('PEXPIRE', key, ARGV[4])
    return { 0, revived }
  end
end
-- A tenth of a second's worth at a time. Others that run come first until then.
local wait = math.max(0, math.ceil(paid + math.min(page, math.max(1, rate / 10)) * 1000 / rate - now))
call('ZADD', P .. 'replaying', int(now + wait), id)
return { wait, revived }
