-- For what tells backlogs: appended to `out` are waiting, active, delayed, dead, receipt of the oldest waiting and of the oldest delayed, last delivery (Unix
-- ms, 0 when none), and the state of the gate as a place in STATES (0: it never changed).
local STATES = 'CHOWD'   -- as `GATE_STATES` has them
local function add_backlog(out, d, now)
  local lane, late, due = P .. 'lane:' .. d, P .. 'late:' .. d, P .. 'due:' .. d
  local ready = call('ZCOUNT', due, '-inf', int(now))
  local oldest = math.huge
  for _, key in ipairs({ lane, late }) do
    local head = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if head then oldest = math.min(oldest, math.floor(tonumber(head) / 4096)) end
  end
  local first = call('ZRANGE', due, 0, 0)[1]
  local meta = first and meta_of(first)
  local n = #out
  out[n + 1] = call('ZCARD', lane) + call('ZCARD', late) + ready
  out[n + 2] = call('ZCARD', P .. 'lease:' .. d)
  out[n + 3] = call('ZCARD', due) - ready
  out[n + 4] = call('ZCARD', P .. 'dead:' .. d)
  out[n + 5] = oldest == math.huge and '0' or int(oldest)
  out[n + 6] = meta and int(meta.at) or '0'
  local gate = call('HMGET', P .. 'gate:' .. d, 'delivered', 'st')
  out[n + 7] = gate[1] or '0'
  out[n + 8] = gate[2] and string.find(STATES, string.sub(gate[2], 1, 1), 1, true) or 0
end
