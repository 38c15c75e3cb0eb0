/** A process that asked so lately is there: its part of the window is kept for it. */
const PRESENT_MS = 1000;

/** What one process got in this window, and when it asked last. */
export interface BookMember {
  granted: number;
  askedAtMs: number;
}

interface Division {
  members: Readonly<Record<string, BookMember>>;
  free: number;
  nowMs: number;
}

/** What one process may take of what is free: its even part comes before the rest, and the parts of others that are there stay for them. */
export function evenPart(member: string, { members, free, nowMs }: Division): number {
  const all = Object.values(members);
  const part = Math.floor(all.reduce((total, { granted }) => total + granted, free) / all.length);
  const kept = Object.entries(members).reduce((sum, [name, { granted, askedAtMs }]) => {
    return name === member || nowMs - askedAtMs > PRESENT_MS ? sum : sum + Math.max(0, part - granted);
  }, 0);
  const lacking = Math.max(0, part - (members[member]?.granted ?? 0));
  return Math.max(free - kept, lacking > 0 ? Math.max(1, Math.floor((free * lacking) / (lacking + kept))) : 0);
}
