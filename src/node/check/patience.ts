/** The time limit of a step of the check. */
export const PATIENCE_MS = 10_000;
