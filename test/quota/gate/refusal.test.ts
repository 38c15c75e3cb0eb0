import { expect, test } from 'vitest';
import { refusalInOutage } from '../../../src/quota/gate/refusal.ts';
import { makeListCall } from '../../support/call.ts';

test('refusalInOutage makes up no status where none is known', () => {
  const refusal = refusalInOutage(makeListCall(), undefined, undefined);
  expect(refusal).toMatchObject({ name: 'ServerError', status: undefined, code: undefined });
});
