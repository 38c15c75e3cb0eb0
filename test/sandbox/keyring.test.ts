import { expect, test } from 'vitest';
import { createSandbox } from '../../src/sandbox/index.ts';
import { asked } from './ask.ts';

test('a key that is revoked and added again starts with a full quota, and leaves that of other keys as it is', async () => {
  const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 2 } } });
  sandbox.clock.hold();
  const other = sandbox.addKey('free');
  const left = async (key: string) =>
    (await asked(sandbox, '/inventory', { headers: { authorization: `Bearer ${key}` } })).headers.get('x-ratelimit-remaining');
  expect([await left(sandbox.keys.free), await left(other)]).toEqual(['1', '1']);
  sandbox.revokeKey(sandbox.keys.free);
  sandbox.addKey('free', sandbox.keys.free);
  expect([await left(sandbox.keys.free), await left(other)]).toEqual(['1', '0']);
});
