import { expect, test } from 'vitest';
import { runTogether } from './command-lines.ts';

test('Two command lines and an application that share a file meet no 429 on one key', { timeout: 400_000 }, async () => {
  const seen = await runTogether('file', { windowMs: 60_000, ban: { after: 0, forMs: 600_000 } });
  expect(seen).toMatchObject({ codes: [0, 0], refused: 0, bans: 0 });
  expect(seen.served).toBeGreaterThan(0);
});
