/** A time span as people say it: `45 s`, `15 min`, `2 h 5 min`, `3 d 4 h`. */
export function duration(ms: number): string {
  const seconds = Math.ceil(ms / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  const [large, small] = minutes < 2_880 ? [60, 1] : [1_440, 60];
  const units = minutes < 2_880 ? ['h', 'min'] : ['d', 'h'];
  const rest = Math.floor((minutes % large) / small);
  return `${Math.floor(minutes / large)} ${units[0]}${rest > 0 ? ` ${rest} ${units[1]}` : ''}`;
}

/** A count and its noun: `1 pet`, `1,000 pets`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
