-- hold: nothing is taken before a time, then a probe decides. ARGV: destination, Unix ms.
-- Returns "from to at reason generation fails since ends", or '' when it is disabled.
call('ZREM', P .. 'busy', '')
local now = now_ms()
local gate = read_gate(ARGV[1])
if gate.state == 'D' then return '' end
change_gate(gate, 'W', 'OperatorHold', now, tonumber(ARGV[2]))
save_gate(gate, now)
announce(gate.d, 0, now)   -- it may have been shut for longer
flush()
return gate.changes[1]
