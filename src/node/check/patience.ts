/** A step that takes longer has failed. */
export const PATIENCE_MS = 10_000;
