-- shared-backlogs: what lies for a page of the namespace's WebhookDestinations, by id. ARGV: the last one of the page before ('~' at first), size of the
-- page, '1' to tell also of those that only ever got something. Those without copies cost next to nothing: one command says that many of them are empty.
-- Returns the store's time, the id to go on after ('' when there is none), then nine values a destination: its id and what `add_backlog` says.
call('ZREM', P .. 'busy', '')   -- a first write that is never refused
local after, size, all = ARGV[1], tonumber(ARGV[2]), ARGV[3] == '1'
local names, now = P .. 'destinations', now_ms()

-- Those that have work and never had a ticket, since no worker runs, come into the list.
if after == '~' then
  for from = 0, call('ZCARD', P .. 'busy') - 1, 1000 do
    local new = {}
    for _, d in ipairs(call('ZRANGE', P .. 'busy', from, from + 999)) do
      if string.sub(d, 1, 1) == '~' then
        new[#new + 1] = 0
        new[#new + 1] = d
      end
    end
    if #new > 0 then call('ZADD', names, 'NX', unpack(new)) end
  end
end

local PLACES = { 'lane:', 'late:', 'due:', 'lease:', 'dead:' }
local PARTS = 16
local ids = call('ZRANGE', names, '(' .. after, '+', 'BYLEX', 'LIMIT', 0, size)
local out = { int(now), #ids == size and ids[#ids] or '' }

local function is_empty(from, to)
  local keys = {}
  for i = from, to do
    for _, place in ipairs(PLACES) do keys[#keys + 1] = P .. place .. ids[i] end
  end
  return call('EXISTS', unpack(keys)) == 0
end

local function look(from, to)
  if not all and is_empty(from, to) then return end
  if from == to then
    out[#out + 1] = ids[from]
    return add_backlog(out, ids[from], now)
  end
  local step = math.ceil((to - from + 1) / PARTS)
  for start = from, to, step do look(start, math.min(start + step - 1, to)) end
end

if #ids > 0 then look(1, #ids) end
return out
