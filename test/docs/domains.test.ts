import { readFile } from 'node:fs/promises';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer, type ServerOptions } from 'node:https';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import tls from 'node:tls';
import { isPetStoreError, PetStoreClient, type PetStoreClientOptions, type PetStoreFailure } from 'petstore-inventory';
import { createSandbox } from 'petstore-inventory/sandbox';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Certificates } from '../support/certificates.ts';
import { ROOT } from './support/installed-package.ts';

const guide = await readFile(join(ROOT, 'docs/domains.md'), 'utf8');
const rows = Array.from(
  guide.matchAll(/^\| ([^|]+) \| `(\w+Error)` \| `([^`]+)` \| (yes|no) \| `([\w-]+)` \|$/gm),
  ([, ...cells]) => cells,
);

/** The states of a domain, by the first cell of their row; each gives what a client is made of and is undone after the test. */
const STATES: Record<string, (stack: AsyncDisposableStack) => Promise<PetStoreClientOptions>> = {
  'no DNS record': async () => ({ baseUrl: 'https://stock.example.invalid/v1' }),
  'no certificate, the handshake is refused': (stack) => overTls({}, stack),
  'a self-signed certificate': async (stack) => overTls(await certificates.get('stranger'), stack),
  'the certificate of another name': async (stack) => overTls(await certificates.get('platform'), stack),
  'an expired certificate': async (stack) => overTls(await certificates.get('expired'), stack),
  'it redirects': async () => {
    const { keys, fetch } = createSandbox({ domains: ['stock.example.com', { from: 'old.example.com', to: 'stock.example.com' }] });
    return { apiKey: keys.pro, baseUrl: 'https://old.example.com/v1', fetch };
  },
  "it leads to somebody else's page": async (stack) => {
    const server = createHttpServer((_request, response) => response.writeHead(404).end('<h1>No such project</h1>'));
    return { baseUrl: `http://localhost:${await portOf(server, stack)}/v1` };
  },
};

let certificates: Certificates;
const trustedBefore = tls.getCACertificates('default');

beforeAll(async () => {
  certificates = await Certificates.open();
  await certificates.make('stranger', { host: 'localhost', days: 1 });
  // Only what is wrong with a certificate beside its signature shall be found in these two.
  const platform = await certificates.make('platform', { host: 'platform.example', days: 1 });
  const expired = await certificates.make('expired', { host: 'localhost', days: -1 });
  tls.setDefaultCACertificates([...trustedBefore, platform.cert, expired.cert]);
});
afterAll(async () => {
  tls.setDefaultCACertificates(trustedBefore);
  await certificates[Symbol.asyncDispose]();
});

test('docs/domains.md has a row for every state in this test, and no other', () => {
  expect(rows.map(([state]) => state)).toEqual(Object.keys(STATES));
});

test.concurrent.for(Object.keys(STATES))('docs/domains.md shows what the client says about a domain in this state: %s', async (state) => {
  await using stack = new AsyncDisposableStack();
  const options = { apiKey: 'demo-key-1', ...(await STATES[state]?.(stack)) };
  const list = await failureOf(new PetStoreClient({ ...options, maxRetries: 1 }).listInventory());
  const update = await failureOf(new PetStoreClient({ ...options, maxRetries: 0 }).updateInventory(1, { quantity: 2 }));
  expect([state, list.name, list.code, list.attempts > 1 ? 'yes' : 'no', update.outcome]).toEqual(rows.find(([first]) => first === state));
  expect(guide.split('\n')).toContain(asShown(String(list)));
});

/** The guide tells of a domain of its reader's, where this machine has its own. */
function asShown(message: string): string {
  return message
    .replace(/http:\/\/localhost:\d+/, 'https://stock.example.com')
    .replace(/localhost:\d+|stock\.example\.invalid/, 'stock.example.com');
}

async function failureOf(call: Promise<unknown>): Promise<PetStoreFailure> {
  const thrown: unknown = await call.catch((error: unknown) => error);
  if (isPetStoreError(thrown)) return thrown;
  throw new Error(`The call did not fail as it should: ${String(thrown)}`);
}

async function overTls(options: ServerOptions, stack: AsyncDisposableStack): Promise<PetStoreClientOptions> {
  const server = createHttpsServer(options, (_request, response) => response.end('[]'));
  return { baseUrl: `https://localhost:${await portOf(server, stack)}/v1` };
}

async function portOf(server: Server, stack: AsyncDisposableStack): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  stack.defer(() => new Promise((resolve) => server.close(() => resolve())));
  const address: AddressInfo | string | null = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
