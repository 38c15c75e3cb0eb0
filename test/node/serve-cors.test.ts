import { type ServeSandboxOptions, serveSandbox } from 'petstore-inventory/node';
import { SandboxError } from 'petstore-inventory/sandbox';
import { describe, expect, test } from 'vitest';
import { rawAnswer, started } from './served.ts';

const ORIGIN = 'http://localhost:5173';
const CORS_HEADERS = [
  'access-control-allow-origin',
  'access-control-expose-headers',
  'access-control-allow-methods',
  'access-control-allow-headers',
  'access-control-max-age',
  'vary',
] as const;

/** The headers about CORS that an answer has. */
function corsOf({ headers }: Response): Record<string, string> {
  return Object.fromEntries(CORS_HEADERS.flatMap((name) => (headers.has(name) ? [[name, String(headers.get(name))]] : [])));
}

const READABLE = { 'access-control-allow-origin': ORIGIN, 'access-control-expose-headers': '*', vary: 'Origin' };
const PREFLIGHT = { 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'authorization,content-type' };

describe('cors', () => {
  test.each([
    ['a list', {}, '/inventory', 200],
    ['a 405', {}, '/inventory/999', 405],
    ['a 429', { faults: [{ status: 429 }] }, '/inventory', 429],
    ['a fault without a Content-Type', { faults: [{ status: 503, headers: { 'content-type': null } }] }, '/inventory', 503],
    ['the head of an answer that is cut', { faults: [{ fail: 'cut' }] }, '/inventory', 200],
    ['a path that is not there', {}, 'x', 404],
  ] satisfies [string, ServeSandboxOptions, string, number][])('lets a listed origin read %s', async (_what, options, path, status) => {
    const { url, keys } = await started({ cors: ORIGIN, ...options });
    const answer = await fetch(`${url}${path}`, { headers: { origin: ORIGIN, authorization: `Bearer ${keys.pro}` } });
    expect([answer.status, corsOf(answer)]).toEqual([status, READABLE]);
    await answer.text().catch(() => {});
  });

  test('lets it read the answers of staging, and the 500 of a setup that throws', async () => {
    const when = () => {
      throw new Error('a typo');
    };
    const { url, stagingUrl } = await started({ cors: ORIGIN, faults: [{ at: 2, when, status: 503 }] });
    const answers = [
      await fetch(`${stagingUrl}/inventory`, { headers: { origin: ORIGIN } }),
      await fetch(`${url}/inventory`, { headers: { origin: ORIGIN } }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([401, 500]);
    expect(answers.map(corsOf)).toEqual([READABLE, READABLE]);
  });

  test('lets it read that a domain is not served', async () => {
    const { url } = await started({ cors: ORIGIN });
    const head = `GET /v1/inventory HTTP/1.1\r\nHost: shop.example\r\nOrigin: ${ORIGIN}\r\nConnection: close\r\n\r\n`;
    expect(await rawAnswer(url, head)).toMatch(/^HTTP\/1.1 421 [\s\S]*\r\naccess-control-allow-origin: http:\/\/localhost:5173\r\n/i);
  });

  test('keeps the Vary of an endpoint of your own', async () => {
    const routes = () => new Response('{}', { headers: { vary: 'Accept' } });
    const { url, keys } = await started({ cors: ORIGIN, routes });
    const answer = await fetch(`${url}/orders`, { headers: { origin: ORIGIN, authorization: `Bearer ${keys.pro}` } });
    expect(corsOf(answer)).toEqual({ ...READABLE, vary: 'Accept, Origin' });
  });

  test('lets a fault play an answer that a page cannot read', async () => {
    const { url } = await started({
      cors: ORIGIN,
      faults: [{ status: 503, headers: { 'access-control-allow-origin': 'https://another.example' } }],
    });
    const answer = await fetch(`${url}/inventory`, { headers: { origin: ORIGIN } });
    expect(corsOf(answer)).toEqual({ ...READABLE, 'access-control-allow-origin': 'https://another.example' });
  });

  test('answers preflights itself: they take no quota and are in no report', async () => {
    const { url, stagingUrl, sandbox } = await started({ cors: ['https://shop.example', ORIGIN], faults: [{ fail: 'reset' }] });
    const headers = { origin: ORIGIN, ...PREFLIGHT };
    const answers = [
      await fetch(`${url}/inventory/1`, { method: 'OPTIONS', headers }),
      await fetch(`${stagingUrl}/inventory`, { method: 'OPTIONS', headers }),
    ];
    const allowed = {
      ...READABLE,
      'access-control-allow-methods': '*',
      'access-control-allow-headers': 'authorization, *',
      'access-control-max-age': '600',
    };
    expect(answers.map((answer) => [answer.status, corsOf(answer)])).toEqual([
      [204, allowed],
      [204, allowed],
    ]);
    expect(sandbox.report().requests).toBe(0);
  });

  test('gives another origin, and a request without one, nothing but Vary', async () => {
    const { url, keys, sandbox } = await started({ cors: ORIGIN });
    const authorization = `Bearer ${keys.pro}`;
    const answers = [
      await fetch(`${url}/inventory`, { headers: { authorization, origin: 'http://localhost:5174' } }),
      await fetch(`${url}/inventory`, { headers: { authorization } }),
      await fetch(`${url}/inventory/1`, { method: 'OPTIONS', headers: { origin: 'null', ...PREFLIGHT } }),
    ];
    expect(answers.map(corsOf)).toEqual([{ vary: 'Origin' }, { vary: 'Origin' }, { vary: 'Origin' }]);
    expect(sandbox.report().requests).toBe(2);
  });

  test('leaves an OPTIONS that is no preflight to the service', async () => {
    const { url, keys, sandbox } = await started({ cors: ORIGIN });
    const headers = { origin: ORIGIN, authorization: `Bearer ${keys.pro}` };
    expect((await fetch(`${url}/inventory`, { method: 'OPTIONS', headers })).status).toBe(405);
    expect(sandbox.report().requests).toBe(1);
  });

  test('does not concern the page: another site reads no keys and cannot reset the sandbox', async () => {
    const { pageUrl } = await started({ cors: ORIGIN });
    const answers = [
      await fetch(`${pageUrl}page/state`, { headers: { origin: ORIGIN } }),
      await fetch(`${pageUrl}page/reset`, { method: 'OPTIONS', headers: { origin: ORIGIN, ...PREFLIGHT } }),
      await fetch(`${pageUrl}openapi.json`, { headers: { origin: ORIGIN } }),
    ];
    expect(answers.map(corsOf)).toEqual([{}, {}, {}]);
  });

  test.each([{}, { cors: [] }])('leaves preflights to the service, like any request, unless origins are given: %j', async (options) => {
    const { url, sandbox } = await started(options);
    const answer = await fetch(`${url}/inventory`, { method: 'OPTIONS', headers: { origin: ORIGIN, ...PREFLIGHT } });
    expect([answer.status, corsOf(answer), sandbox.report().requests]).toEqual([401, {}, 1]);
  });

  test.each(['https://shop.example', 'http://[::1]:5173', 'capacitor://localhost', 'chrome-extension://abcdefghijklmnop'])(
    'takes the origin %s',
    async (origin) => {
      const { url } = await started({ cors: [origin] });
      expect(corsOf(await fetch(`${url}/inventory`, { headers: { origin } }))).toEqual({
        ...READABLE,
        'access-control-allow-origin': origin,
      });
    },
  );

  test.each([
    '*',
    'null',
    '',
    'localhost:5173',
    'http://localhost:5173/',
    'http://localhost:5173/shop',
    'http://LOCALHOST:5173',
    'http://localhost:80',
    'http://someone@localhost',
    'file://',
  ])('refuses %j, which no browser sends as an origin', async (cors) => {
    const rule = 'it must be an origin as browsers send it, such as "http://localhost:5173", or a list of origins';
    await expect(serveSandbox({ cors })).rejects.toThrow(new SandboxError(`Cannot use "${cors}" as \`cors\`: ${rule}`));
    await expect(serveSandbox({ cors: [ORIGIN, cors] })).rejects.toThrow(new SandboxError(`Cannot use "${cors}" as \`cors\`: ${rule}`));
  });
});
