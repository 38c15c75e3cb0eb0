/** Counts by slots of time, as text and JSON can hold them: the number of a slot, and what was granted in it. */
export type SlotCounts = Record<string, number>;

/** The slot that an instant lies in. */
export function slotOf(nowMs: number, slotMs: number): number {
  return Math.floor(nowMs / slotMs);
}

/** Forgets the slots before one. */
export function dropBelow(slots: SlotCounts, first: number): void {
  for (const slot of Object.keys(slots)) if (Number(slot) < first) delete slots[slot];
}

/** Counts more, or less, in a slot; it never holds less than nothing. */
export function add(counts: SlotCounts, slot: number, more: number): void {
  counts[slot] = Math.max(0, (counts[slot] ?? 0) + more);
}

/** What all slots hold. */
export function sum(slots: SlotCounts): number {
  return Object.values(slots).reduce((total, granted) => total + granted, 0);
}

/** When the oldest slot that holds anything leaves the rolling count. */
export function firstSlotMs(slots: SlotCounts, slotMs: number, kept: number): number {
  const filled = Object.entries(slots).filter(([, granted]) => granted > 0);
  const first = Math.min(...filled.map(([slot]) => Number(slot)));
  return Number.isFinite(first) ? (first + kept + 1) * slotMs : 0;
}
