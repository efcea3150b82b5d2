-- done: may a ticket end?
-- ARGV: destination, the ticket's generation, limit, mode: drained | yield | postpone, delay of postpone.
-- Returns { -1 } when there is something to take; else { wake, generation }: wake > 0 asks for a ticket at that Unix ms. `postpone` also returns the route whose
-- own workers serve the destination, or ''.
call('ZREM', P .. 'busy', '')
local d, generation, limit, mode = ARGV[1], ARGV[2], tonumber(ARGV[3]), ARGV[4]
local now = now_ms()
local gate, lease = P .. 'gate:' .. d, P .. 'lease:' .. d
local ready = call('ZCARD', P .. 'lane:' .. d) + call('ZCARD', P .. 'late:' .. d)
local due = tonumber(call('ZRANGE', P .. 'due:' .. d, 0, 0, 'WITHSCORES')[2])
local free = limit - call('ZCARD', lease)
if mode == 'drained' and free > 0 and (ready > 0 or (due and due <= now)) then return { -1, '0' } end

local current = call('HGET', gate, 'g') or '0'
if current == generation then current = int(call('HINCRBY', gate, 'g', 1)) end
if mode == 'yield' then
  call('ZADD', P .. 'busy', int(now + FRESH_MS), d)
  return { 0, current }
end
if mode == 'postpone' and ready == 0 and not due and free == limit then
  call('ZREM', P .. 'busy', d)   -- its route was deleted meanwhile, say: there is nothing to look at again
  return { 0, current }
end
if mode == 'postpone' then
  call('ZADD', P .. 'busy', int(now + tonumber(ARGV[5])), d)
  return { 0, current, served_by(d, now) }
end

-- A marked lease (negative score) comes back MARK_MS after its mark, another one is marked at its deadline.
local oldest = call('ZRANGE', lease, 0, 0, 'WITHSCORES')[2]
local wake = due
if oldest then
  oldest = tonumber(oldest)
  local look = oldest < 0 and MARK_MS - oldest or oldest
  wake = math.min(wake or look, look)
end
if not wake then
  call('ZREM', P .. 'busy', d)
  call('HDEL', gate, 'wakeAt')
  return { 0, current }
end
wake = math.max(wake, now) + 1
call('ZADD', P .. 'busy', int(wake + FRESH_MS), d)
local pending = tonumber(call('HGET', gate, 'wakeAt')) or 0
if pending > now and pending <= wake then return { 0, current } end
call('HSET', gate, 'wakeAt', int(wake))
return { int(wake), current }
