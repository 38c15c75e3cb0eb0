/** A time span as people say it, rounded up, so that no wait is longer: `50 ms`, `1.5 s`, `45 s`, `2 min 29 s`, `2 h 5 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (ms > 0 && ms < 1000) return `${Math.ceil(ms)} ms`;
  const seconds = ms < 10_000 ? Math.ceil(ms / 100) / 10 : Math.ceil(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return inUnits(seconds, 60, ['min', 's']);
  const minutes = Math.ceil(seconds / 60);
  return minutes < 2_880 ? inUnits(minutes, 60, ['h', 'min']) : inUnits(Math.ceil(minutes / 60), 24, ['d', 'h']);
}

function inUnits(count: number, size: number, [large, small]: readonly [string, string]): string {
  const rest = count % size;
  return `${Math.floor(count / size)} ${large}${rest > 0 ? ` ${rest} ${small}` : ''}`;
}
