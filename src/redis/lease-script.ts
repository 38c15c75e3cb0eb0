/**
 * One exchange of a process with the store, in one step: the rules of `quota/lease/quota-record.ts` in Lua, which Redis runs atomically and
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

local function add(counts, name, more) counts[name] = (counts[name] or 0) + more end
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
local function dropBelow(slots, first)
  for slot in pairs(slots) do if tonumber(slot) < first then slots[slot] = nil end end
end
local function sum(slots, first)
  local total = 0
  for slot, granted in pairs(slots) do
    if tonumber(slot) >= (first or 0) then total = total + granted end
  end
  return total
end
local function firstSlot(slots, length, count)
  local first
  for slot, granted in pairs(slots) do
    if granted > 0 and (not first or tonumber(slot) < first) then first = tonumber(slot) end
  end
  return first and (first + count + 1) * length or 0
end
local function size(counts)
  local total = 0
  for _ in pairs(counts) do total = total + 1 end
  return total
end
local function isKnown() return record.minute ~= nil and record.minute.endsAtMs > now end
local function lastLimit()
  local minute = record.minute
  return minute and minute.limit > 0 and minute.endsAtMs == record.turnedAtMs and minute.limit or UNLIMITED
end
local function freeByPlan() return math.min(plan, lastLimit()) - math.min(sum(record.minuteSlots), record.sinceTurn) end
local function freeInDay()
  local day = record.day and record.day.endsAtMs > now and record.day
  local granted = sum(record.daySlots, day and math.floor((day.endsAtMs - 86400000) / DAY_SLOT))
  return math.min(day and day.left or UNLIMITED, (request.plan.requestsPerDay or record.limitPerDay or UNLIMITED) - granted)
end
local function refuse(wait, reason)
  return { granted = 0, expiresInMs = 0, resetAtMs = 0, waitMs = wait, reason = reason, members = size(record.members) }
end
local function planTurnsAt()
  local minute = record.minute
  if not minute or minute.resetAtMs == 0 or minute.endsAtMs - record.turnedAtMs < 54000 then return math.huge end
  return minute.endsAtMs
end
local function turn()
  local turnsAt = planTurnsAt()
  if now < turnsAt then return end
  record.turnedAtMs = turnsAt
  record.beforeTurn = record.sinceTurn
  record.sinceTurn = 0
end
local function waitForQuota()
  local day, byPlan, minute = 0, 0, 0
  if freeInDay() < 1 then
    day = (record.day and record.day.endsAtMs > now and record.day.endsAtMs or firstSlot(record.daySlots, DAY_SLOT, 144)) - now
  end
  if freeByPlan() < 1 then byPlan = math.min(planTurnsAt(), firstSlot(record.minuteSlots, SLOT, 12)) - now end
  if isKnown() and record.minute.left < 1 then
    local rounds = 1 + (record.minute.carried and record.minute.carried.requests or 0) / size(record.members)
    minute = math.ceil((record.minute.endsAtMs - now) / rounds)
  end
  return refuse(math.max(1, day, byPlan, minute), 'quota')
end
local function count(granted)
  if isKnown() then record.minute.left = record.minute.left - granted end
  if record.day then record.day.left = record.day.left - granted end
  record.sinceTurn = record.sinceTurn + granted
  add(record.minuteSlots, slotOf(SLOT), granted)
  add(record.daySlots, slotOf(DAY_SLOT), granted)
  local member = record.members[request.member]
  if member then member.granted = member.granted + granted end
end

local function giveBack()
  local ofDay = request.returned + request.uncounted
  if ofDay == 0 then return end
  takeBack(record.minuteSlots, request.returned)
  takeBack(record.daySlots, ofDay)
  record.sinceTurn = math.max(0, record.sinceTurn - request.returned)
  if record.day then record.day.left = record.day.left + ofDay end
  if not record.minute or record.minute.resetAtMs ~= request.returnedResetAtMs then return end
  record.minute.left = record.minute.left + request.returned
  local member = record.members[request.member]
  if member then member.granted = member.granted - request.returned end
end
local function lateOf()
  local late = request.unanswered
  for _, one in ipairs(request.lateAnswers) do
    if one.resetAtMs == record.minute.resetAtMs and one.remaining < (record.minute.firstRemaining or 0) then late = late + 1 end
  end
  return late
end
local function isFresh(window) return window and window.endsInMs > 0 and now - window.ageMs >= record.closedUntilMs end
local function observeDay(window)
  if record.day and window.resetAtMs < record.day.resetAtMs then return end
  local before = record.day and record.day.resetAtMs == window.resetAtMs and record.day.left or UNLIMITED
  record.day = { left = math.min(before, window.remaining), resetAtMs = window.resetAtMs, endsAtMs = now + window.endsInMs }
end
local function describe(window)
  if record.minute.resetAtMs ~= 0 or now - window.ageMs < record.minute.endsAtMs - MINUTE then return end
  local left = math.max(0, math.min(window.remaining, window.limit - (UNLIMITED - record.minute.left)))
  record.minute = { limit = window.limit, left = left, firstRemaining = window.remaining, resetAtMs = window.resetAtMs, endsAtMs = now + window.endsInMs }
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
local function refill()
  local minute = isKnown() and record.minute
  if not minute or not minute.carried or now <= minute.carried.atMs then return end
  local requests, atMs = minute.carried.requests, minute.carried.atMs
  local gone = math.floor(requests * (now - atMs) / (minute.endsAtMs - atMs))
  if gone < 1 then return end
  minute.left = minute.left + gone
  minute.carried = { requests = requests - gone, atMs = now }
end
local function carriedOver(window)
  local weighted = math.floor((record.beforeTurn or 0) * window.endsInMs / MINUTE)
  return { requests = math.max(0, math.min(window.limit - window.remaining - record.sinceTurn, weighted)), atMs = now }
end
local function observeMinute(window)
  if isKnown() then
    if window.resetAtMs ~= record.minute.resetAtMs then return describe(window) end
    record.minute.limit = record.minute.limit == 0 and 0 or window.limit
    if not record.minute.carried then record.minute.left = math.min(record.minute.left, window.remaining) end
    return
  end
  local isOwnProbe = record.probeBy == request.member
  local before = record.minute
  local isOver = before and (window.resetAtMs < before.resetAtMs or window.resetAtMs == before.resetAtMs and before.endsAtMs > 0)
  if isOver and not (isOwnProbe and request.isProbeAnswered) then return end
  turn()
  local isForgotten = record.minute == nil and not record.members[request.member] and not request.isProbeAnswered
  local probes = record.probeUntilMs > now and not isOwnProbe and 1 or 0
  local left = math.max(0, window.remaining - probes)
  local isWeighted = window.isWeighted or before and before.endsAtMs > 0 and before.carried
  beginMinute({ limit = isForgotten and 0 or window.limit, left = left, firstRemaining = window.remaining,
    resetAtMs = window.resetAtMs, endsAtMs = now + window.endsInMs, carried = isWeighted and carriedOver(window) or nil })
end
local function observe()
  if isFresh(request.day) then observeDay(request.day) end
  if request.minute and record.minute and request.minute.resetAtMs == record.minute.resetAtMs then
    record.minute.endsAtMs = math.min(record.minute.endsAtMs, now + request.minute.endsInMs)
  end
  if isFresh(request.minute) then observeMinute(request.minute) end
  if not request.isProbeAnswered or record.probeBy ~= request.member or record.probeUntilMs == 0 then return end
  local isDescribed = request.minute and now - request.minute.ageMs >= record.probeUntilMs - 1000
  if not isKnown() and not isDescribed then
    beginMinute({ limit = UNLIMITED, left = UNLIMITED, firstRemaining = UNLIMITED, resetAtMs = 0, endsAtMs = now + MINUTE })
  end
  record.probeUntilMs = 0
end
local function grantProbe()
  if record.probeUntilMs > now then return refuse(25, 'probe') end
  turn()
  if math.min(freeByPlan(), freeInDay()) < 1 then return waitForQuota() end
  for name, member in pairs(record.members) do
    if now - (member.requestedAtMs or 0) > (record.minute and 2 or 1) * MINUTE then record.members[name] = nil end
  end
  record.members[request.member] = { granted = 0, requestedAtMs = now }
  record.probeBy = request.member
  record.probeUntilMs = now + 1000
  count(1)
  return { granted = 1, expiresInMs = 1000, resetAtMs = 0, waitMs = 0, reason = 'probe', members = 1 }
end
local function partOf(free, members)
  local total, kept = free, 0
  for _, member in pairs(record.members) do total = total + member.granted end
  local part = math.floor(total / members)
  for name, member in pairs(record.members) do
    if name ~= request.member and now - (member.requestedAtMs or 0) <= 1000 then kept = kept + math.max(0, part - member.granted) end
  end
  local lacking = math.max(0, part - record.members[request.member].granted)
  return math.max(free - kept, lacking > 0 and math.max(1, math.floor(free * lacking / (lacking + kept))) or 0)
end
local function grant()
  if record.closedUntilMs > now then return refuse(record.closedUntilMs - now, 'closed') end
  if not isKnown() then return grantProbe() end
  if record.minute.limit == 0 then return refuse(record.minute.endsAtMs - now, 'lost') end
  local member = record.members[request.member]
  if not member or member.isExpected then record.minute.left = math.max(0, record.minute.left - lateOf()) end
  record.members[request.member] = { granted = member and member.granted or 0, requestedAtMs = now }
  local free = math.min(record.minute.left, freeByPlan(), freeInDay())
  if free < 1 then return waitForQuota() end
  local members = size(record.members)
  local own = partOf(free, members)
  if own < 1 then return refuse(math.min(150, record.minute.endsAtMs - now), 'quota') end
  local most = math.max(1, math.floor(math.min(record.minute.limit / 20, plan / 20, free / (2 * members))))
  local granted = math.min(request.wanted, most, own)
  count(granted)
  return { granted = granted, expiresInMs = record.minute.endsAtMs - now, resetAtMs = record.minute.resetAtMs, waitMs = 0, reason = 'quota',
    members = members }
end

dropBelow(record.minuteSlots, math.floor(now / SLOT) - 12)
dropBelow(record.daySlots, math.floor(now / DAY_SLOT) - 144)
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
local response = request.wanted > 0 and grant() or refuse(0, 'quota')
sender = record.members[request.member]
if sender then sender.number = request.number end
redis.call('SET', KEYS[1], cjson.encode(record), 'PX', string.format('%.0f', math.max(90000000, record.closedUntilMs - now + MINUTE)))
return cjson.encode(response)
`;
