import fc from 'fast-check';
import { createSandbox } from 'petstore-inventory/sandbox';
import { expect, test } from 'vitest';
import { ErrorBody } from '../../src/contract/models.ts';

const method = fc.constantFrom('GET', 'PATCH', 'POST', 'PUT', 'DELETE', 'HEAD', 'OPTIONS', 'BREW', 'get');
const path = fc.oneof(
  fc.constantFrom('/v1/inventory', '/v1/inventory/1', '/staging/v1/inventory', '/v1', '/', '/v1/inventory/'),
  fc.webPath(),
  fc.string().map((text) => `/v1/inventory/${text}`),
);
const body = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.json(),
  fc.integer().map((quantity) => JSON.stringify({ quantity })),
  fc.uint8Array(),
);
const token = fc.oneof(fc.constant('free'), fc.stringMatching(/^[ -~]{0,40}$/));

test('whatever a client sends, it gets an answer with its own numbers: 2xx, or an Error body with its status', async () => {
  const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 1_000_000 } }, keys: { secret: 'business' } });
  const property = fc.asyncProperty(fc.record({ method, path, body, token }), async (sent) => {
    const headers = { authorization: sent.token === 'free' ? `Bearer ${sandbox.keys.free}` : sent.token };
    const hasBody = !/^(get|head)$/i.test(sent.method);
    const url = new URL(`${new URL(sandbox.baseUrl).origin}${sent.path}`);
    const answer = await sandbox.fetch(url, {
      method: sent.method,
      headers,
      body: hasBody ? new Blob([Uint8Array.from(Buffer.from(sent.body))]) : null,
    });
    const text = await answer.text();
    expect(answer.status).not.toBe(500);
    expect(answer.ok || text === '' || ErrorBody.parse(JSON.parse(text)).status === answer.status).toBe(true);
    expect(answer.headers.get('x-ratelimit-limit')).not.toBe('1000');
  });
  await fc.assert(property, { numRuns: 400, seed: 20_261_121 });
});
