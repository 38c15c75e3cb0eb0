import { expect, test } from 'vitest';
import { cannotOpen, UsageError } from '../../src/cli/usage-error.ts';

test.each([
  ['EROFS', Error],
  ['EACCES', UsageError],
])('cannotOpen keeps the cause %s, which --verbose shows', (code, Failure) => {
  const cause = Object.assign(new Error(`${code}: open`), { code });
  const error = cannotOpen('--report', { path: 'a.txt', error: cause });
  expect([error.constructor, error.message, error.cause]).toEqual([Failure, `Cannot use --report a.txt: ${code}: open`, cause]);
});
