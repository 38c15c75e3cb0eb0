import { loadPart } from '../load-part.ts';

/** What reads a journal needs zod, and most jobs have none. */
export function loadReplay(signal: AbortSignal | undefined): Promise<typeof import('./replay.ts')> {
  const reading = { purpose: 'read the journal', details: () => ({}), signal: signal ?? new AbortController().signal };
  return loadPart('zod', reading, import('./replay.ts'));
}
