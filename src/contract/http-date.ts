const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const TIME = '(?<hour>\\d{2}):(?<minute>\\d{2}):(?<second>\\d{2})';
const FORMS = [
  new RegExp(`^[A-Z][a-z]{2}, (?<day>\\d{2}) (?<month>[A-Z][a-z]{2}) (?<year>\\d{4}) ${TIME} GMT$`),
  new RegExp(`^[A-Z][a-z]{5,8}, (?<day>\\d{2})-(?<month>[A-Z][a-z]{2})-(?<year>\\d{2}) ${TIME} GMT$`),
  new RegExp(`^[A-Z][a-z]{2} (?<month>[A-Z][a-z]{2}) (?<day>[ \\d]\\d) ${TIME} (?<year>\\d{4})$`),
];

/** Reads an HTTP-date in any of its three forms (RFC 9110 section 5.6.7) into milliseconds since 1970; undefined for anything else. */
export function parseHttpDate(text: string, nowMs: number): number | undefined {
  for (const form of FORMS) {
    const parts = form.exec(text)?.groups;
    if (parts) return toInstant(parts, nowMs);
  }
  return undefined;
}

function toInstant(parts: Record<string, string>, nowMs: number): number | undefined {
  const month = MONTHS.indexOf(parts.month ?? '');
  const day = Number(parts.day);
  const year = parts.year?.length === 2 ? fullYear(Number(parts.year), nowMs) : Number(parts.year);
  const [hour, minute, second] = [Number(parts.hour), Number(parts.minute), Number(parts.second)];
  // 31 February would become a day in March, and the year 1, which Go writes for no time, 1901.
  const isDay = year > 99 && month >= 0 && new Date(Date.UTC(year, month, day)).getUTCDate() === day;
  // A leap second is written as 60 (RFC 9110).
  if (!isDay || hour > 23 || minute > 59 || second > 60) return undefined;
  return Date.UTC(year, month, day, hour, minute, second);
}

/** Two digits that seem more than 50 years ahead mean the past (RFC 9110 section 5.6.7). */
function fullYear(twoDigits: number, nowMs: number): number {
  const thisYear = new Date(nowMs).getUTCFullYear();
  const year = Math.floor(thisYear / 100) * 100 + twoDigits;
  return year > thisYear + 50 ? year - 100 : year;
}
