import { setTimeout } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import { adviceFor, judgeAnswer, judgePlan, type Plan } from '../../../src/node/check/answer.ts';
import { Redactor } from '../../../src/redactor.ts';

vi.mock('../../../src/node/check/patience.ts', () => ({ PATIENCE_MS: 100 }));

test.each<[Plan, string | undefined, string, string]>([
  ['learned', '60', 'ok', 'none given: it is learned from the headers, free until then'],
  ['unlimited', '60', 'ok', 'unlimited, whatever the service says'],
  ['pro', '300', 'ok', 'pro, 300 requests a minute and 10000 a day'],
  ['pro', '10000', 'ok', 'pro, 300 requests a minute and 10000 a day'],
  ['pro', undefined, 'ok', 'pro, 300 requests a minute and 10000 a day'],
  ['pro', '60', 'problem', 'pro, 300 requests a minute and 10000 a day, but the service says 60'],
  ['pro', '1000', 'note', 'pro, 300 requests a minute and 10000 a day, but the service says 1000'],
  [{ requestsPerMinute: 5 }, '5', 'ok', 'custom, 5 requests a minute'],
  [{ requestsPerMinute: 5, requestsPerDay: 70 }, '4', 'problem', 'custom, 5 requests a minute and 70 a day, but the service says 4'],
])('judgePlan says of the plan %o and the limit %s: %s, %s', (plan, limit, outcome, message) => {
  const headers = new Headers(limit === undefined ? {} : { 'x-ratelimit-limit': limit });
  expect(judgePlan(headers, plan)).toMatchObject({ outcome, message });
});

test.each([500, 503, 599])('adviceFor says of the status %i that the service failed', (status) => {
  expect(adviceFor(status, true)).toEqual({ advice: 'the service failed: try again later' });
});

test('adviceFor sends to the login of the network for a 511', () => {
  expect(adviceFor(511, true)).toEqual({
    advice: 'log in to the network with a browser',
    see: 'docs/domains.md#a-proxy-is-in-between',
  });
});

test.each([
  ['[]', 'ok'],
  ['[{"petId":1,"quantity":2,"status":"sold"}]', 'ok'],
  ['[{"petId":9007199254740993,"quantity":2,"status":"sold"}]', 'ok'],
  ['[{"petId":1,"quantity":2,"status":"sold"},', 'problem'],
  ['[{"petId":1,"quantity":2', 'problem'],
  ['[{petId:1,quantity:2,status:"sold"}]', 'problem'],
  ['[{"petId":1.5,"quantity":2,"status":"sold"}]', 'problem'],
  ['[1]', 'problem'],
])('judgeAnswer says of the body %s: %s', async (body, outcome) => {
  const asked = { address: 'https://pets.test/v1', receivedAtMs: 0, redactor: new Redactor() };
  expect(await judgeAnswer(new Response(body), asked)).toMatchObject({ check: 'answer', outcome });
});

test.each([
  [1, /^it answered 200, but its body could not be read: it is not valid JSON$/],
  [5_000, /^it answered 200 with a list of the inventory, as far as read$/],
])('judgeAnswer says what is true of a list that is cut after the items: %i', async (count, message) => {
  const asked = { address: 'https://pets.test/v1', receivedAtMs: 0, redactor: new Redactor() };
  const items = '{"petId":1,"quantity":2,"status":"sold"},'.repeat(count);
  expect((await judgeAnswer(new Response(`[${items}`), asked)).message).toMatch(message);
});

/** A body that begins with a text and goes on with a space every 20 ms, for two seconds. */
function trickling(text: string): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  let left = 100;
  return new ReadableStream({
    start: (body) => body.enqueue(encoder.encode(text)),
    pull: async (body) => {
      await setTimeout(20);
      left -= 1;
      if (left > 0) body.enqueue(encoder.encode(' '));
      else body.close();
    },
  });
}

test.each([
  ['[', 200, 'problem', /^it answered 200, but its body could not be read: only \d characters came within 100 ms$/],
  ['[{"petId":1,"quantity":2,"status":"sold"}', 200, 'ok', /^it answered 200 with a list of the inventory, as far as read$/],
  ['{"code":', 400, 'problem', /^the service answered 400, but its body could not be read: only \d+ characters came within 100 ms$/],
])('judgeAnswer does not wait for the end of a body that trickles: %s, with %i', async (text, status, outcome, message) => {
  const asked = { address: 'https://pets.test/v1', receivedAtMs: 0, redactor: new Redactor() };
  expect(await judgeAnswer(new Response(trickling(text), { status }), asked)).toMatchObject({
    outcome,
    message: expect.stringMatching(message),
  });
});

test.each([
  ['https://new.test/v1/inventory', 'use the new address, up to /v1, instead of the old one'],
  ['https://login.test/hello', 'a login page, a proxy or another site may have answered'],
])('judgeAnswer advises on a redirect to %s: %s', async (location, advice) => {
  const response = new Response(null, { status: 302, headers: { location } });
  const finding = await judgeAnswer(response, { address: 'https://pets.test/v1', receivedAtMs: 0, redactor: new Redactor() });
  expect(finding).toMatchObject({ outcome: 'problem', advice: expect.stringContaining(advice) });
});
