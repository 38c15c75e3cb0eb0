import type { Break } from './program.ts';

/** A fault in the source of every simulator; test/mutation/lane.ts puts its mutant here. */
export const MUTANT: Break | undefined = undefined;
