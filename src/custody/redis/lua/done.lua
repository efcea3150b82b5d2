-- done: may tickets end?
-- ARGV: configs of gates (JSON array), then seven for each ticket:
--   destination, the ticket's generation, limit, mode: drained | yield | postpone, delay of postpone, place of its gate's config among those or 0, its seq.
-- Returns for each ticket { -1 } when there is something to take; else { wake, generation }: wake > 0 asks for a ticket at that Unix ms. `postpone` also returns
-- the route whose own workers serve the destination, or ''.
call('ZREM', P .. 'busy', '')
local configs = cjson.decode(ARGV[1])
local now = now_ms()

local function forget_busy(d)
  local list = batch('ZREM', P .. 'busy')
  list[#list + 1] = d
end

local function end_ticket(d, generation, limit, mode, delay, config, seq)
  local gate, lease = P .. 'gate:' .. d, P .. 'lease:' .. d
  local guard = config and read_gate(d, config, seq) or nil
  local shut_until, refill
  if guard then limit, shut_until = permitted(guard, now) end
  local ready = call('ZCARD', P .. 'lane:' .. d) + call('ZCARD', P .. 'late:' .. d)
  local due = tonumber(call('ZRANGE', P .. 'due:' .. d, 0, 0, 'WITHSCORES')[2])
  local leased = call('ZCARD', lease)
  local takeable = ready > 0 or (due and due <= now)
  if guard and takeable and leased < limit then
    local afford, at = affordable(guard, now)
    if afford == 0 then refill = at end
  end
  if mode == 'drained' and leased < limit and takeable and not refill then return { -1, '0' } end

  local current, wake_at = unpack(guard and guard.tickets or call('HMGET', gate, 'g', 'wakeAt'), 1, 2)
  current = current or '0'
  if current == generation then current = int(call('HINCRBY', gate, 'g', 1)) end
  if mode == 'yield' then
    call('ZADD', P .. 'busy', int(now + FRESH_MS), d)
    return { 0, current }
  end
  -- A lease whose holder is lost is taken back whatever else keeps the destination from being drained, so that its copy does not look active meanwhile.
  -- A marked one (negative score) comes back MARK_MS after its mark, another one is marked at its deadline.
  local oldest = leased > 0 and tonumber(call('ZRANGE', lease, 0, 0, 'WITHSCORES')[2])
  local wake = oldest and math.max(oldest < 0 and MARK_MS - oldest or oldest, now + 1) or math.huge
  if mode == 'postpone' then
    -- Its route was deleted meanwhile, say: there is nothing to look at again.
    if ready == 0 and not due and leased == 0 then forget_busy(d) return { 0, current } end
    call('ZADD', P .. 'busy', int(math.min(now + delay, wake)), d)
    return { 0, current, served_by(d, now) }
  end

  -- A disabled one is looked at when it is enabled; and once an hour, as it may have been deleted, or have no gate any more.
  if guard and guard.state == 'D' then look_later('d:' .. d, now + 3600000, now)
  elseif refill then wake = math.min(wake, refill)
  elseif shut_until and ready > 0 then wake = math.min(wake, shut_until)
  elseif due then wake = math.min(wake, math.max(due, shut_until or 0)) end
  if wake == math.huge then
    forget_busy(d)
    if wake_at then call('HDEL', gate, 'wakeAt') end
    return { 0, current }
  end
  wake = math.max(wake, now) + 1
  call('ZADD', P .. 'busy', int(wake + FRESH_MS), d)
  local pending = tonumber(wake_at) or 0
  if pending > now and pending <= wake then return { 0, current } end
  call('HSET', gate, 'wakeAt', int(wake))
  return { int(wake), current }
end

local out = {}
for i = 2, #ARGV, 7 do
  local d, generation, limit, mode, delay, config, seq = unpack(ARGV, i, i + 6)
  out[#out + 1] = end_ticket(d, generation, tonumber(limit), mode, tonumber(delay), configs[tonumber(config)], tonumber(seq))
end
flush()
return out
