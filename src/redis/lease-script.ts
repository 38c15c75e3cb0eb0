/**
 * What one process says and gets, in one step: the rules of `quota/lease-book.ts` in Lua, where Redis runs them undisturbed and by its own
 * clock. KEYS[1] holds the book as JSON, ARGV[1] is the ask, with the channel on which a closed gate is published: a library may have put a
 * prefix before the name of the key, and none before that of a channel. ARGV[2] takes the place of the clock in tests.
 *
 * Runs on Redis 6 and later. Numbers stay below 14 digits, which is what cjson keeps.
 */
export const LEASE_SCRIPT = `
local UNLIMITED, MINUTE, HOUR, SLOT = 1e12, 60000, 3600000, 5000
local time = redis.call('TIME')
local now = ARGV[2] and tonumber(ARGV[2]) or tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local ask = cjson.decode(ARGV[1])
local kept = redis.call('GET', KEYS[1])
local book = kept and cjson.decode(kept)
if not book or (book.writtenAtMs or 0) - now > MINUTE then book =
  { closedUntilMs = 0, probeBy = '', probeUntilMs = 0, turnedAtMs = 0, sinceTurn = 0, minuteSlots = {}, daySlots = {}, members = {} }
end
book.writtenAtMs = now
local plan = ask.plan.requestsPerMinute or UNLIMITED

local function add(counts, name, more)
  counts[tostring(name)] = math.max(0, (counts[tostring(name)] or 0) + more)
end
local function slotOf(length) return string.format('%.0f', math.floor(now / length)) end
local function dropBelow(slots, first)
  for slot in pairs(slots) do if tonumber(slot) < first then slots[slot] = nil end end
end
local function sum(slots)
  local total = 0
  for _, granted in pairs(slots) do total = total + granted end
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
local function isKnown() return book.minute ~= nil and book.minute.endsAtMs > now end
local function freeByPlan() return plan - math.min(sum(book.minuteSlots), book.sinceTurn) end
local function freeInDay()
  if book.day and book.day.endsAtMs > now then return book.day.left end
  return (book.limitPerDay or UNLIMITED) - sum(book.daySlots)
end
local function refuse(wait, reason)
  return { granted = 0, endsInMs = 0, windowMs = 0, waitMs = wait, reason = reason, members = size(book.members) }
end
local function waitForQuota()
  local day, byPlan, minute = 0, 0, 0
  if freeInDay() < 1 then
    day = (book.day and book.day.endsAtMs > now and book.day.endsAtMs or firstSlot(book.daySlots, HOUR, 24)) - now
  end
  if freeByPlan() < 1 then byPlan = firstSlot(book.minuteSlots, SLOT, 12) - now end
  if isKnown() and book.minute.left < 1 then minute = book.minute.endsAtMs - now end
  return refuse(math.max(1, day, byPlan, minute), 'quota')
end
local function count(granted)
  if isKnown() then book.minute.left = book.minute.left - granted end
  if book.day then book.day.left = book.day.left - granted end
  book.sinceTurn = book.sinceTurn + granted
  add(book.minuteSlots, slotOf(SLOT), granted)
  add(book.daySlots, slotOf(HOUR), granted)
  local member = book.members[ask.member]
  if member then member.granted = member.granted + granted end
end

local function giveBack()
  if ask.returned == 0 then return end
  add(book.minuteSlots, slotOf(SLOT), -ask.returned)
  add(book.daySlots, slotOf(HOUR), -ask.returned)
  book.sinceTurn = math.max(0, book.sinceTurn - ask.returned)
  if book.day then book.day.left = book.day.left + ask.returned end
  if not book.minute or book.minute.resetAtMs ~= ask.returnedOfMs then return end
  book.minute.left = book.minute.left + ask.returned
  local member = book.members[ask.member]
  if member then member.granted = member.granted - ask.returned end
end
local function lateOf()
  local late = ask.unanswered
  for _, one in ipairs(ask.late) do
    if one.resetAtMs == book.minute.resetAtMs and one.remaining < book.minute.told then late = late + 1 end
  end
  return late
end
local function isFresh(heard) return heard and heard.endsInMs > 0 and now - heard.agoMs >= book.closedUntilMs end
local function hearDay(heard)
  if book.day and heard.resetAtMs < book.day.resetAtMs then return end
  local before = book.day and book.day.resetAtMs == heard.resetAtMs and book.day.left or UNLIMITED
  book.day = { limit = heard.limit, left = math.min(before, heard.remaining, book.limitPerDay or UNLIMITED),
    told = heard.remaining, resetAtMs = heard.resetAtMs, endsAtMs = now + heard.endsInMs }
end
local function hearMinute(heard)
  if isKnown() then
    if heard.resetAtMs ~= book.minute.resetAtMs then return end
    book.minute.limit = heard.limit
    book.minute.left = math.min(book.minute.left, heard.remaining)
    return
  end
  local isOwnProbe = book.probeBy == ask.member
  if book.minute and heard.resetAtMs < book.minute.resetAtMs and not (isOwnProbe and ask.isProbeAnswered) then return end
  local isForgotten = book.minute == nil and not isOwnProbe and not ask.isProbeAnswered
  local probes = book.probeUntilMs > now and not isOwnProbe and 1 or 0
  book.probeUntilMs = 0
  local left = isForgotten and 0 or math.max(0, math.min(heard.remaining, plan) - probes)
  book.minute = { limit = isForgotten and 0 or heard.limit, left = left, told = heard.remaining,
    resetAtMs = heard.resetAtMs, endsAtMs = now + heard.endsInMs }
end
local function hear()
  if isFresh(ask.day) then hearDay(ask.day) end
  if ask.minute and book.minute and ask.minute.resetAtMs == book.minute.resetAtMs then
    book.minute.endsAtMs = math.min(book.minute.endsAtMs, now + ask.minute.endsInMs)
  end
  if isFresh(ask.minute) then hearMinute(ask.minute) end
  if not ask.isProbeAnswered or book.probeBy ~= ask.member or book.probeUntilMs == 0 then return end
  if not isKnown() then book.minute = { limit = UNLIMITED, left = UNLIMITED, told = UNLIMITED, resetAtMs = 0, endsAtMs = now + MINUTE } end
  book.probeUntilMs = 0
end
local function turn()
  local ended = book.minute and book.minute.endsAtMs or 0
  if ended == 0 or ended - book.turnedAtMs < 54000 or book.minute.resetAtMs == 0 or now < ended then return end
  book.turnedAtMs = ended
  book.sinceTurn = 0
end
local function grantProbe()
  if book.probeUntilMs > now then return refuse(25, 'probe') end
  turn()
  if math.min(freeByPlan(), freeInDay()) < 1 then return waitForQuota() end
  book.members = { [ask.member] = { granted = 0, askedAtMs = now } }
  book.probeBy = ask.member
  book.probeUntilMs = now + 1000
  count(1)
  return { granted = 1, endsInMs = 1000, windowMs = 0, waitMs = 0, reason = 'probe', members = 1 }
end
local function partOf(free, members)
  local total, kept = free, 0
  for _, member in pairs(book.members) do total = total + member.granted end
  local part = math.floor(total / members)
  for name, member in pairs(book.members) do
    if name ~= ask.member and now - member.askedAtMs <= 1000 then kept = kept + math.max(0, part - member.granted) end
  end
  local lacking = math.max(0, part - book.members[ask.member].granted)
  return math.max(free - kept, lacking > 0 and math.max(1, math.floor(free * lacking / (lacking + kept))) or 0)
end
local function grant()
  if book.closedUntilMs > now then return refuse(book.closedUntilMs - now, 'closed') end
  if not isKnown() then return grantProbe() end
  if book.minute.limit == 0 then return refuse(book.minute.endsAtMs - now, 'lost') end
  if not book.members[ask.member] then book.minute.left = math.max(0, book.minute.left - lateOf()) end
  book.members[ask.member] = { granted = book.members[ask.member] and book.members[ask.member].granted or 0, askedAtMs = now }
  local free = math.min(book.minute.left, freeByPlan(), freeInDay())
  if free < 1 then return waitForQuota() end
  local members = size(book.members)
  local own = partOf(free, members)
  if own < 1 then return refuse(math.min(150, book.minute.endsAtMs - now), 'quota') end
  local most = math.min(math.max(1, math.floor(math.min(book.minute.limit, plan) / 20)), math.max(1, math.floor(free / (2 * members))))
  local granted = math.min(ask.wanted, most, own)
  count(granted)
  return { granted = granted, endsInMs = book.minute.endsAtMs - now, windowMs = book.minute.resetAtMs, waitMs = 0, reason = 'quota',
    members = members }
end

dropBelow(book.minuteSlots, math.floor(now / SLOT) - 12)
dropBelow(book.daySlots, math.floor(now / HOUR) - 24)
if ask.plan.requestsPerDay or isFresh(ask.minute) then book.limitPerDay = ask.plan.requestsPerDay end
if ask.closedForMs > 0 then
  book.closedUntilMs = math.max(book.closedUntilMs, now + ask.closedForMs)
  book.probeUntilMs = 0
  if book.minute then book.minute.endsAtMs = 0 end
  redis.call('PUBLISH', ask.channel, string.format('%.0f', ask.closedForMs))
end
giveBack()
hear()
local answer = ask.wanted > 0 and grant() or refuse(0, 'quota')
redis.call('SET', KEYS[1], cjson.encode(book), 'PX', string.format('%.0f', math.max(90000000, book.closedUntilMs - now + MINUTE)))
return cjson.encode(answer)
`;
