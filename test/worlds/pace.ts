/** Something that was seen at an instant. */
export interface Seen {
  readonly atMs: number;
  readonly what: string;
}

/**
 * When something happened, in seconds, and how often: `0.025: 3 x 200; 60.144: 1 x 200`. What is of one kind, and begins within `groupMs`,
 * is written as one group.
 */
export function paceOf(all: Iterable<Seen>, groupMs = 100): string {
  const groups: (Seen & { count: number })[] = [];
  for (const { atMs, what } of all) {
    const last = groups.at(-1);
    if (last && last.what === what && atMs - last.atMs < groupMs) last.count += 1;
    else groups.push({ atMs, what, count: 1 });
  }
  return groups.map(({ atMs, what, count }) => `${(atMs / 1_000).toFixed(3)}: ${count} x ${what}`).join('; ');
}
