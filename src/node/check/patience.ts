/** Longer than a step takes on any network that works. */
export const PATIENCE_MS = 10_000;
