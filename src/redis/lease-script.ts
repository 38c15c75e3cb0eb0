/**
 * One exchange of a process with the store, in one step: the rules of `node/quota-record.ts` in Lua, which Redis runs atomically and
 * by its own clock. KEYS[1] is the key of the record, which is JSON. ARGV[1] is the request. It contains the channel on which a closed gate
 * is published, since a library may add a prefix to KEYS[1], but adds none to a channel. ARGV[2] replaces the clock in tests.
 *
 * Fields with a default (`or 0`) are missing in records of an older version. What a request gives back counts once, even if a library
 * sends it again because its answer was lost: its number tells. Without the right to publish, the others learn of a closed gate with their
 * next lease.
 *
 * Runs on Redis 6 and later. cjson keeps 14 digits of a number, and all numbers are shorter.
 */
export const LEASE_SCRIPT = `
local UNLIMITED, MINUTE, SLOT, DAY_SLOT = 1e12, 60000, 5000, 600000
local time = redis.call('TIME')
local now = ARGV[2] and tonumber(ARGV[2]) or tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local request = cjson.decode(ARGV[1])
local kept = redis.call('GET', KEYS[1])
local record = kept and cjson.decode(kept)
if not record or (record.writtenAtMs or 0) - now > MINUTE then record =
  { closedUntilMs = 0, probeBy = '', probeUntilMs = 0, turnedAtMs = 0, sinceTurn = 0, beforeTurn = 0, minuteSlots = {}, daySlots = {}, members = {} }
end
record.writtenAtMs = now
local plan = request.plan.requestsPerMinute or UNLIMITED

local function underWay(window) return window and window.endsAtMs > now and window or nil end
local function add(counts, slot, more) counts[slot] = (counts[slot] or 0) + more end
local function takeBack(counts, returned)
  local newestFirst = {}
  for slot in pairs(counts) do table.insert(newestFirst, slot) end
  table.sort(newestFirst, function(one, other) return tonumber(one) > tonumber(other) end)
  for _, slot in ipairs(newestFirst) do
    local taken = math.min(counts[slot], returned)
    counts[slot] = counts[slot] - taken
    returned = returned - taken
  end
end
local function slotOf(length) return string.format('%.0f', math.floor(now / length)) end
local function forgetOld(counts, length, kept)
  local first = math.floor(now / length) - kept
  for slot in pairs(counts) do if tonumber(slot) < first then counts[slot] = nil end end
end
local function sum(counts, first)
  local total = 0
  for slot, granted in pairs(counts) do
    if tonumber(slot) >= (first or 0) then total = total + granted end
  end
  return total
end
local function firstLeavesAt(counts, length, kept)
  local first
  for slot, granted in pairs(counts) do
    if granted > 0 and (not first or tonumber(slot) < first) then first = tonumber(slot) end
  end
  return first and (first + kept + 1) * length or 0
end
local function sizeOf(members)
  local total = 0
  for _ in pairs(members) do total = total + 1 end
  return total
end

local function planTurnsAt()
  local minute = record.minute
  return minute and minute.resetAtMs ~= 0 and minute.endsAtMs - record.turnedAtMs >= 54000 and minute.endsAtMs or math.huge
end
local function turn()
  local turnsAt = planTurnsAt()
  if now < turnsAt then return end
  record.turnedAtMs = turnsAt
  record.beforeTurn = record.sinceTurn
  record.sinceTurn = 0
end
local function freeByPlan()
  local minute = record.minute
  local isTurned = minute and minute.limit > 0 and minute.endsAtMs == record.turnedAtMs
  return math.min(plan, isTurned and minute.limit or UNLIMITED) - math.min(sum(record.minuteSlots), record.sinceTurn)
end
local function freeInDay()
  local day = underWay(record.day)
  local granted = sum(record.daySlots, day and math.floor((day.endsAtMs - 86400000) / DAY_SLOT))
  return math.min(day and day.left or UNLIMITED, (request.plan.requestsPerDay or record.limitPerDay or UNLIMITED) - granted)
end
local function waitMsOf()
  local day, minute = underWay(record.day), underWay(record.minute)
  local dayAt = day and day.endsAtMs or firstLeavesAt(record.daySlots, DAY_SLOT, 144)
  local planAt = math.min(planTurnsAt(), firstLeavesAt(record.minuteSlots, SLOT, 12))
  local rounds = 1 + (minute and minute.carried and minute.carried.requests or 0) / sizeOf(record.members)
  return math.max(1, freeInDay() < 1 and dayAt - now or 0, freeByPlan() < 1 and planAt - now or 0,
    minute and minute.left < 1 and math.ceil((minute.endsAtMs - now) / rounds) or 0)
end
local function count(granted)
  local minute, member = underWay(record.minute), record.members[request.member]
  if minute then minute.left = minute.left - granted end
  if record.day then record.day.left = record.day.left - granted end
  record.sinceTurn = record.sinceTurn + granted
  add(record.minuteSlots, slotOf(SLOT), granted)
  add(record.daySlots, slotOf(DAY_SLOT), granted)
  if member then member.granted = member.granted + granted end
end

local function refill()
  local minute = underWay(record.minute)
  if not minute or not minute.carried or now <= minute.carried.atMs then return end
  local requests, atMs = minute.carried.requests, minute.carried.atMs
  local gone = math.floor(requests * (now - atMs) / (minute.endsAtMs - atMs))
  if gone < 1 then return end
  minute.left = minute.left + gone
  minute.carried = { requests = requests - gone, atMs = now }
end
local function giveBack()
  local returned, ofDay = request.returned, request.returned + request.uncounted
  if ofDay == 0 then return end
  takeBack(record.minuteSlots, returned)
  takeBack(record.daySlots, ofDay)
  record.sinceTurn = math.max(0, record.sinceTurn - returned)
  if record.day then record.day.left = record.day.left + ofDay end
  local minute, member = record.minute, record.members[request.member]
  if not minute or minute.resetAtMs ~= request.returnedResetAtMs then return end
  minute.left = minute.left + returned
  if member then member.granted = member.granted - returned end
end
local function isFresh(window) return window and window.endsInMs > 0 and now - window.ageMs >= record.closedUntilMs end
local function observeDay(window)
  local day = record.day
  if day and window.resetAtMs < day.resetAtMs then return end
  local before = day and day.resetAtMs == window.resetAtMs and day.left or UNLIMITED
  record.day = { left = math.min(before, window.remaining), resetAtMs = window.resetAtMs, endsAtMs = now + window.endsInMs }
end
local function describe(minute, window)
  if minute.resetAtMs ~= 0 or now - window.ageMs < minute.endsAtMs - MINUTE then return end
  local left = math.max(0, math.min(window.remaining, window.limit - (UNLIMITED - minute.left)))
  record.minute = { limit = window.limit, left = left, firstRemaining = window.remaining, resetAtMs = window.resetAtMs, endsAtMs = now + window.endsInMs }
end
local function carriedOver(window)
  local weighted = math.floor((record.beforeTurn or 0) * window.endsInMs / MINUTE)
  return { requests = math.max(0, math.min(window.limit - window.remaining - record.sinceTurn, weighted)), atMs = now }
end
local function beginMinute(minute)
  for name, member in pairs(record.members) do
    if record.probeUntilMs == 0 or name ~= record.probeBy then
      record.members[name] = not member.isExpected and { granted = 0, requestedAtMs = now, isExpected = true, number = member.number } or nil
    end
  end
  record.minute = minute
  record.probeUntilMs = 0
end
local function observeMinute(window)
  local known, before = underWay(record.minute), record.minute
  if known then
    if window.resetAtMs ~= known.resetAtMs then return describe(known, window) end
    known.limit = known.limit == 0 and 0 or window.limit
    if not known.carried then known.left = math.min(known.left, window.remaining) end
    return
  end
  local isOwnProbe = record.probeBy == request.member
  local isOver = before and (window.resetAtMs < before.resetAtMs or window.resetAtMs == before.resetAtMs and before.endsAtMs > 0)
  if isOver and not (isOwnProbe and request.isProbeAnswered) then return end
  turn()
  local isForgotten = not before and not record.members[request.member] and not request.isProbeAnswered
  local probes = record.probeUntilMs > now and not isOwnProbe and 1 or 0
  local isWeighted = window.isWeighted or before and before.endsAtMs > 0 and before.carried
  beginMinute({ limit = isForgotten and 0 or window.limit, left = math.max(0, window.remaining - probes), firstRemaining = window.remaining,
    resetAtMs = window.resetAtMs, endsAtMs = now + window.endsInMs, carried = isWeighted and carriedOver(window) or nil })
end
local function observe()
  local minute, known = request.minute, record.minute
  if isFresh(request.day) then observeDay(request.day) end
  if minute and known and known.resetAtMs == minute.resetAtMs then known.endsAtMs = math.min(known.endsAtMs, now + minute.endsInMs) end
  if isFresh(minute) then observeMinute(minute) end
  if not request.isProbeAnswered or record.probeBy ~= request.member or record.probeUntilMs == 0 then return end
  local isDescribed = minute and now - minute.ageMs >= record.probeUntilMs - 1000
  if not underWay(record.minute) and not isDescribed then
    beginMinute({ limit = UNLIMITED, left = UNLIMITED, firstRemaining = UNLIMITED, resetAtMs = 0, endsAtMs = now + MINUTE })
  end
  record.probeUntilMs = 0
end

local function refuse(reason, wait)
  return { granted = 0, expiresInMs = 0, resetAtMs = 0, waitMs = wait, reason = reason, members = sizeOf(record.members) }
end
local function grantProbe()
  if record.probeUntilMs > now then return refuse('probe', 25) end
  turn()
  if math.min(freeByPlan(), freeInDay()) < 1 then return refuse('quota', waitMsOf()) end
  for name, member in pairs(record.members) do
    if now - (member.requestedAtMs or 0) > (record.minute and 2 or 1) * MINUTE then record.members[name] = nil end
  end
  record.members[request.member] = { granted = 0, requestedAtMs = now }
  record.probeBy = request.member
  record.probeUntilMs = now + 1000
  count(1)
  return { granted = 1, expiresInMs = 1000, resetAtMs = 0, waitMs = 0, reason = 'probe', members = 1 }
end
local function lateOf(minute)
  local late = request.unanswered
  for _, one in ipairs(request.lateAnswers) do
    if one.resetAtMs == minute.resetAtMs and one.remaining < (minute.firstRemaining or 0) then late = late + 1 end
  end
  return late
end
local function partOf(free)
  local total, kept = free, 0
  for _, member in pairs(record.members) do total = total + member.granted end
  local even = math.floor(total / sizeOf(record.members))
  for name, member in pairs(record.members) do
    if name ~= request.member and now - (member.requestedAtMs or 0) <= 1000 then kept = kept + math.max(0, even - member.granted) end
  end
  local lacking = math.max(0, even - record.members[request.member].granted)
  return math.max(free - kept, lacking > 0 and math.max(1, math.floor(free * lacking / (lacking + kept))) or 0)
end
local function grant()
  if record.closedUntilMs > now then return refuse('closed', record.closedUntilMs - now) end
  local minute, member = underWay(record.minute), record.members[request.member]
  if not minute then return grantProbe() end
  local expiresIn = minute.endsAtMs - now
  if minute.limit == 0 then return refuse('lost', expiresIn) end
  if not member or member.isExpected then minute.left = math.max(0, minute.left - lateOf(minute)) end
  record.members[request.member] = { granted = member and member.granted or 0, requestedAtMs = now }
  local free = math.min(minute.left, freeByPlan(), freeInDay())
  if free < 1 then return refuse('quota', waitMsOf()) end
  local part, members = partOf(free), sizeOf(record.members)
  if part < 1 then return refuse('quota', math.min(150, expiresIn)) end
  local most = math.max(1, math.floor(math.min(minute.limit / 20, plan / 20, free / (2 * members))))
  local granted = math.min(request.wanted, most, part)
  count(granted)
  return { granted = granted, expiresInMs = expiresIn, resetAtMs = minute.resetAtMs, waitMs = 0, reason = 'quota', members = members }
end

forgetOld(record.minuteSlots, SLOT, 12)
forgetOld(record.daySlots, DAY_SLOT, 144)
refill()
if request.plan.requestsPerDay or isFresh(request.minute) then record.limitPerDay = request.limitPerDay or request.plan.requestsPerDay end
if request.closedForMs > 0 then
  record.closedUntilMs = math.max(record.closedUntilMs, now + request.closedForMs)
  record.probeUntilMs = 0
  if record.minute then record.minute.endsAtMs = 0 end
  redis.pcall('PUBLISH', request.channel, string.format('%.0f', request.closedForMs))
end
local sender = record.members[request.member]
if sender and sender.number and request.number <= sender.number then request.returned, request.uncounted = 0, 0 end
giveBack()
observe()
local response = request.wanted > 0 and grant() or refuse('quota', 0)
sender = record.members[request.member]
if sender then sender.number = request.number end
redis.call('SET', KEYS[1], cjson.encode(record), 'PX', string.format('%.0f', math.max(90000000, record.closedUntilMs - now + MINUTE)))
return cjson.encode(response)
`;
