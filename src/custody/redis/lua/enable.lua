-- enable: closes a destination's gate, whatever its state, and resets its counts. ARGV: destination.
-- Returns "from to at reason generation fails since ends", or '' when it was closed.
call('ZREM', P .. 'busy', '')
local now = now_ms()
local gate = read_gate(ARGV[1])
if gate.told > 0 then
  gate.told = 0
  tell(gate, 'Recovered', 'OperatorEnabled', '', now)
end
gate.fails, gate.since, gate.row, gate.trips, gate.dirty = 0, 0, 0, 0, true
if gate.state ~= 'C' then
  -- It comes back as after a probe: what has piled up must not fall upon it at once.
  gate.ramp = 1
  change_gate(gate, 'C', 'OperatorEnabled', now)
end
save_gate(gate, now)
announce(gate.d, 0, now)
flush()
return gate.changes[1] or ''
