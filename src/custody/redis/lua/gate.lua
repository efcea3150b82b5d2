-- Shared by the scripts that decide about a gate (custody: "Gate, rate, hold, circuit"), behind lib.lua and notices.lua. gate:<d> has, besides what tickets need:
--   cs   seq of the config in `cfg` (JSON: seq, limit, rate, circuit, disableAfter): the newest is kept
--   st   "state ends generation fails since row trips ramp at reason told"
--     state  C closed, W held, O open, H half open, D disabled       ends   of W and O, Unix ms
--     fails  attempts in a row without success, since the first of them       row   failures in a row, as the circuit counts them
--     trips  openings since it last came back to its full limit               ramp  leases permitted on the way there, 0: all
--     told   the last of TOLD that was told, 0: none since it was fine
--   b    tokens of the rate and when they were counted
local MAX_HOLD_MS = 300000
local FAILING = 5           -- so many failures in a row are told, where no circuit says how many
local TOLD = { 'Failing', 'HalfWay', 'Disabled' }
local REFILL_MS = 50        -- an empty bucket is looked at again after this, or when it is full: not for each token

-- The gate as it is, with the config that counts. `own`: what the caller knows of that, and its seq; or nil.
local function read_gate(d, own, seq)
  local v = call('HMGET', P .. 'gate:' .. d, 'cs', 'cfg', 'st', 'b', 'run', 'g', 'wakeAt')
  local gate = { d = d, own = own, seq = seq, changes = {}, notices = {}, unknown = not v[5], tickets = { v[6], v[7] } }
  local state, ends, generation, fails, since, row, trips, ramp, at, reason, told =
    string.match(v[3] or 'C 0 0 0 0 0 0 0 0 -', '^(%u) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%d+) (%S+) ?(%d?)$')
  gate.state, gate.ends, gate.generation, gate.fails, gate.since = state, tonumber(ends), tonumber(generation), tonumber(fails), tonumber(since)
  gate.row, gate.trips, gate.ramp, gate.at, gate.reason = tonumber(row), tonumber(trips), tonumber(ramp), at, reason
  gate.told = tonumber(told) or 0
  local kept = tonumber(v[1] or '-1')
  if own and seq >= kept then
    gate.config, gate.newer = own, seq > kept
  else
    gate.config = v[2] and cjson.decode(v[2]) or {}
  end
  local rate = gate.config.rate
  if rate then
    local tokens, counted = string.match(v[4] or '', '^(%S+) (%d+)$')
    gate.tokens, gate.counted = tonumber(tokens) or rate.burst, tonumber(counted)
  end
  return gate
end

-- Texts of configs: many destinations have the same.
local config_texts = {}
local function config_text(config)
  local text = config_texts[config] or cjson.encode(config)
  config_texts[config] = text
  return text
end

-- Writes what changed.
local function save_gate(gate, now)
  local fields = {}
  if gate.newer then
    fields[1], fields[2], fields[3], fields[4] = 'cs', int(gate.seq), 'cfg', config_text(gate.own)
  end
  -- Its first config, or the first ticket it ever had: from now on it is listed.
  if gate.newer or (gate.starts and gate.unknown) then list_destination(gate.d, now) end
  gate.newer = false
  for field, value in pairs({ run = gate.starts or nil, delivered = gate.delivered }) do
    fields[#fields + 1] = field
    fields[#fields + 1] = value
  end
  if gate.dirty then
    fields[#fields + 1] = 'st'
    fields[#fields + 1] = gate.state .. ' ' .. int(gate.ends) .. ' ' .. int(gate.generation) .. ' ' .. int(gate.fails) .. ' ' .. int(gate.since) .. ' ' ..
      int(gate.row) .. ' ' .. int(gate.trips) .. ' ' .. int(gate.ramp) .. ' ' .. gate.at .. ' ' .. gate.reason .. ' ' .. int(gate.told)
    gate.dirty = false
  end
  if gate.spent then
    fields[#fields + 1] = 'b'
    fields[#fields + 1] = string.format('%.6f', gate.tokens) .. ' ' .. int(now)
    gate.spent = false
  end
  if #fields > 0 then call('HSET', P .. 'gate:' .. gate.d, unpack(fields)) end
  for _, notice in ipairs(gate.notices) do keep_notice(notice, now) end
  gate.notices = {}
end

-- Something is to be told; it is kept together with the gate. `record`: JSON of the last attempt's log entry, or ''.
local function tell(gate, kind, reason, record, now)
  local last = record ~= '' and cjson.decode(record) or {}
  local parked = 0
  for _, place in ipairs({ 'lane:', 'late:', 'due:' }) do parked = parked + call('ZCARD', P .. place .. gate.d) end
  gate.notices[#gate.notices + 1] = {
    kind = kind, destination = gate.d, at = now, reason = reason, consecutiveFailures = gate.fails, parked = parked,
    failingSince = gate.since > 0 and gate.since or nil, lastStatus = last.status,
    -- Before a colon: behind it are a handler's own words.
    lastError = last.error and string.match(last.error, '^[^:]+'),
  }
  gate.dirty = true
end

-- How far it has come on the way to being disabled, as a place in TOLD.
local function trouble(gate, now)
  if gate.state == 'D' then return 3 end
  local after, circuit = gate.config.disableAfter, gate.config.circuit
  if after and 2 * gate.fails >= after.consecutiveFailures and 2 * (now - gate.since) >= after.failingForMs then return 2 end
  return (gate.state == 'O' or gate.fails >= (circuit and circuit.consecutiveFailures or FAILING)) and 1 or 0
end

-- After an attempt was judged. Each step is told once until it is fine again: it took a message, and is not shut.
local function tell_about(gate, effect, record, now)
  if effect == 'S' then
    if gate.told == 0 or gate.state ~= 'C' then return end
    gate.told = 0
    return tell(gate, 'Recovered', 'Recovered', record, now)
  end
  local level = trouble(gate, now)
  if level <= gate.told then return end
  gate.told = level
  tell(gate, TOLD[level], gate.state == 'D' and gate.reason or 'ConsecutiveFailures', record, now)
end

local function change_gate(gate, to, reason, now, ends)
  gate.generation = gate.generation + 1
  gate.changes[#gate.changes + 1] = gate.state .. ' ' .. to .. ' ' .. int(now) .. ' ' .. reason .. ' ' .. int(gate.generation) .. ' ' .. int(gate.fails) .. ' ' ..
    int(gate.since) .. ' ' .. int(ends or 0)
  gate.state, gate.reason, gate.at, gate.ends, gate.dirty = to, reason, int(now), ends or 0, true
end

local function ramp_to(gate, ramp)
  gate.ramp, gate.dirty = ramp, true
  if ramp >= (gate.config.limit or 1) then gate.ramp, gate.trips = 0, 0 end
end

local function open_circuit(gate, reason, now)
  local circuit = gate.config.circuit
  -- Without a circuit a failed probe ends the hold all the same: there is nothing to open.
  if not circuit then
    ramp_to(gate, 1)
    return change_gate(gate, 'C', reason, now)
  end
  local ms = math.min(circuit.maxOpenMs, circuit.openMs * 2 ^ math.min(gate.trips, 30))
  gate.trips, gate.row, gate.ramp = gate.trips + 1, 0, 0
  change_gate(gate, 'O', reason, now, now + ms)
end

local function has_recovered(gate, now)
  if gate.state == 'H' then
    ramp_to(gate, 2)
    change_gate(gate, 'C', 'Recovered', now)
  elseif gate.ramp > 0 then ramp_to(gate, 2 * gate.ramp) end
end

local function is_to_be_disabled(gate, now)
  local after = gate.config.disableAfter
  return after and gate.fails >= after.consecutiveFailures and now - gate.since >= after.failingForMs
end

-- What an attempt says: S success, F failure, R rejected, P asks for a pause of `pause` ms, G gone. An attempt that was taken under another generation
-- changes counters, never the state.
local function judge(gate, effect, generation, pause, now)
  local current = generation == gate.generation and (gate.state == 'C' or gate.state == 'H')
  if effect == 'S' then
    if gate.fails > 0 then gate.fails, gate.since, gate.row, gate.dirty = 0, 0, 0, true end
    if current then has_recovered(gate, now) end
    return
  end
  gate.fails, gate.dirty = gate.fails + 1, true
  if gate.since == 0 then gate.since = now end
  if effect == 'F' then gate.row = gate.row + 1 elseif effect == 'R' then gate.row = 0 end
  if not current then return end
  local circuit = gate.config.circuit
  if effect == 'G' then change_gate(gate, 'D', 'Gone', now)
  elseif is_to_be_disabled(gate, now) then change_gate(gate, 'D', 'ConsecutiveFailures', now)
  elseif effect == 'P' then change_gate(gate, 'W', 'RetryAfter', now, now + math.min(pause, MAX_HOLD_MS))
  elseif effect == 'R' then has_recovered(gate, now)
  elseif gate.state == 'H' then open_circuit(gate, 'ProbeFailed', now)
  elseif circuit and gate.row >= circuit.consecutiveFailures then open_circuit(gate, 'ConsecutiveFailures', now)
  elseif gate.ramp > 1 then gate.ramp = math.floor(gate.ramp / 2) end
end

-- Leases it permits at this moment. 0 while it is shut: until the second value, or for good.
local function permitted(gate, now)
  if gate.state == 'D' then return 0, nil end
  if gate.state == 'H' then return 1 end
  if gate.state ~= 'C' then
    if gate.ends > now then return 0, gate.ends end
    return 1   -- the probe
  end
  local limit = gate.config.limit
  return gate.ramp > 0 and math.min(gate.ramp, limit) or limit
end

-- Takes the rate permits at this moment; when none, when it is to be looked at again.
local function affordable(gate, now)
  local rate = gate.config.rate
  if not rate then return math.huge end
  local each = rate.perMs / rate.requests
  if gate.counted then gate.tokens = gate.tokens + math.max(0, now - gate.counted) / each end
  gate.tokens, gate.counted = math.min(gate.tokens, rate.burst), now
  -- What was counted in parts may lack a millionth of a token.
  local whole = math.floor(gate.tokens + 0.00001)
  if whole >= 1 then return whole end
  return 0, now + math.ceil(math.max((1 - gate.tokens) * each, math.min(REFILL_MS, (rate.burst - gate.tokens) * each)))
end

-- Tokens for copies that were taken (or, negative, came back unsent).
local function spend(gate, copies)
  if not gate.config.rate or copies == 0 then return end
  gate.tokens, gate.spent = math.min(gate.tokens - copies, gate.config.rate.burst), true
end
