import * as z from 'zod/mini';
import type { Result } from './run-test.ts';

const Results = z.array(z.object({ title: z.string(), ms: z.number(), error: z.optional(z.string()) }));

/** Reads what a runtime sent. */
export function parseResults(text: string): Result[] {
  return Results.parse(JSON.parse(text)).map(({ title, ms, error }) => (error === undefined ? { title, ms } : { title, ms, error }));
}
