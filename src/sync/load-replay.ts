import { loadPart } from '../load-part.ts';

/** Loads the reader of journals. It needs zod, and most jobs have no journal. */
export function loadReplay(signal: AbortSignal | undefined): Promise<typeof import('./replay.ts')> {
  const reading = { purpose: 'read the journal', details: () => ({}), signal: signal ?? new AbortController().signal };
  return loadPart('zod', reading, import('./replay.ts'));
}
