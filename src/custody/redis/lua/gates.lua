-- gates: the state of each destination's gate in ARGV, as gate.lua writes it; '' for one that never changed.
local out = {}
for i, d in ipairs(ARGV) do out[i] = call('HGET', P .. 'gate:' .. d, 'st') or '' end
return out
