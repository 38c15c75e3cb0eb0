import fc from 'fast-check';

/** How often a property is tried; FUZZ_RUNS asks for more. */
export const FUZZ = { numRuns: Number(process.env.FUZZ_RUNS ?? 500) };

/** Any text at all, halves of surrogate pairs and control characters included. */
export const anyText = fc.array(fc.integer({ min: 0, max: 0xffff })).map((units) => String.fromCharCode(...units));
