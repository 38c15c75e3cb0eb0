import { expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };
import { VERSION } from '../src/version.ts';

test('VERSION is that of the package', () => {
  expect(VERSION).toBe(manifest.version);
});
