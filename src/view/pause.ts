const FIRST_PAUSE_MS = 1_000;

/** How long no list is read after so many in a row have failed: a second, and twice as long after each further one. */
export function pauseMsAfter(failures: number): number {
  return FIRST_PAUSE_MS * 2 ** (failures - 1);
}
