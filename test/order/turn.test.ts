import { expect, test, vi } from 'vitest';
import { Turn } from '../../src/order/turn.ts';
import { makeCall } from '../support/call.ts';
import { rejectionOf } from '../support/outcome.ts';

test('Turn gives back a permit that comes after its refusal, and nothing if no permit comes', async () => {
  const cancel = vi.fn();
  const turn = new Turn<string, string>(makeCall(), {
    raise: () => {},
    watch: () => () => {},
    admit: () => 'permit',
    cancel,
    send: async () => 'reply',
  });
  const news = rejectionOf(turn.wait(() => {}));
  turn.refuse('too long');
  turn.tell({ passed: undefined });
  turn.tell({ supersededBy: 2, end: { reply: 'reply' } });
  turn.tell({ passed: 'permit' });
  expect(await news).toBe('too long');
  expect(cancel.mock.calls).toEqual([['permit']]);
});
