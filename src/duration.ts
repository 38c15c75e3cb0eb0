/** A time span as people say it, rounded up: `50 ms`, `1.5 s`, `45 s`, `15 min`, `2 h 5 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  if (ms > 0 && ms < 1000) return `${Math.ceil(ms)} ms`;
  const seconds = ms < 10_000 ? Math.ceil(ms / 100) / 10 : Math.ceil(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const [large, small] = minutes < 2_880 ? [60, 1] : [1_440, 60];
  const units = minutes < 2_880 ? ['h', 'min'] : ['d', 'h'];
  const rest = Math.floor((minutes % large) / small);
  return `${Math.floor(minutes / large)} ${units[0]}${rest > 0 ? ` ${rest} ${units[1]}` : ''}`;
}
