import { ConnectionError, ServerError } from 'petstore-inventory';
import { expect, test, vi } from 'vitest';
import { scriptedClient } from '../support/client.ts';
import { rejectionOf } from '../support/outcome.ts';
import { holdTime, NOW_MS } from '../support/time.ts';

holdTime();

const down = () => new Response('', { status: 503 });

/** Good headers, and a body that is reset. */
function reset(): Response {
  const cause = Object.assign(new Error('reset'), { code: 'ECONNRESET' });
  return new Response(new ReadableStream({ pull: (controller) => controller.error(cause) }));
}

/** Notes when requests come, in tenths of a second. */
function noted(answer: () => Response): { answering: () => Response; tenths: number[] } {
  const tenths: number[] = [];
  const answering = () => {
    tenths.push(Math.floor((Date.now() - NOW_MS) / 100));
    return answer();
  };
  return { answering, tenths };
}

test.each([
  ['a status', down, ServerError],
  ['broken bodies', reset, ConnectionError],
])(
  'a single call probes an outage of %s with its backoff, at most 8 s apart, and gives up after `maxWaitMs`',
  async (_kind, answer, expected) => {
    const { answering, tenths } = noted(answer);
    const { client, log } = scriptedClient([answering], { maxRetries: 1_000, maxWaitMs: 20_000 });
    const rejection = rejectionOf(client.listInventory());
    await vi.advanceTimersByTimeAsync(21_600);
    expect(await Promise.race([rejection, 'still waiting'])).toBeInstanceOf(expected);
    expect(tenths).toEqual([0, 5, 15, 35, 75, 155, 215]);
    expect(log.filter((line) => line.startsWith('gate'))).toEqual(['gate closed']);
  },
);

test('calls that take turns at probing all give up `maxWaitMs` after the outage began', async () => {
  const { client } = scriptedClient([down], { maxRetries: 1_000, maxWaitMs: 6_000 });
  const rejections = Promise.all(Array.from({ length: 20 }, () => rejectionOf(client.listInventory())));
  await vi.advanceTimersByTimeAsync(7_500);
  expect(await Promise.race([rejections, 'still waiting'])).toHaveLength(20);
});

test('a service all of whose bodies break gets few requests after the first ones', async () => {
  const { answering, tenths } = noted(reset);
  const { client } = scriptedClient([answering], { plan: 'unlimited', maxWaitMs: 20_000 });
  const rejections = Promise.all(Array.from({ length: 100 }, () => rejectionOf(client.listInventory())));
  await vi.advanceTimersByTimeAsync(30_000);
  await rejections;
  expect(tenths.filter((tenth) => tenth > 0).length).toBeLessThan(8);
});
