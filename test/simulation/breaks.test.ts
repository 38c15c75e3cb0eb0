import { expect, test } from 'vitest';
import { BREAKS } from './breaks.ts';
import { loadProgram } from './program.ts';

test.each(Object.entries(BREAKS))('loadProgram() puts the fault into the source: %s', async (_name, fault) => {
  await expect(loadProgram(fault)).resolves.toBeTypeOf('function');
});
