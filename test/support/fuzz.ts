/** How often a property is tried; FUZZ_RUNS asks for more. */
export const FUZZ = { numRuns: Number(process.env.FUZZ_RUNS ?? 500) };
