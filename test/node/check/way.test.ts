import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createTcpServer, type Server, Socket } from 'node:net';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { afterEach, expect, test, vi } from 'vitest';
import { checkWay } from '../../../src/node/check/way.ts';
import { Certificates } from '../../support/certificates.ts';
import { portOf } from '../../support/port-of.ts';

const { connect, lookup, patience } = vi.hoisted(() => ({ connect: vi.fn(), lookup: vi.fn(), patience: { ms: 60_000 } }));
vi.mock('../../../src/node/check/patience.ts', () => ({
  get PATIENCE_MS() {
    return patience.ms;
  },
}));
vi.mock('node:net', async (original) => {
  const net = await original<typeof import('node:net')>();
  return { ...net, connect: connect.mockImplementation(net.connect) };
});
vi.mock('node:dns/promises', async (original) => {
  const dns = await original<typeof import('node:dns/promises')>();
  return { ...dns, lookup: lookup.mockImplementation(dns.lookup) };
});

const servers: Server[] = [];

async function listening<Kind extends Server>(server: Kind): Promise<Kind> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

afterEach(async () => {
  patience.ms = 60_000;
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

function proxyAt(port: number) {
  return { variable: 'HTTPS_PROXY', url: `http://127.0.0.1:${port}`, shown: `http://127.0.0.1:${port}` };
}

/** A server that takes connections and says nothing, until the other side has had enough. */
function silent(): Promise<Server> {
  return listening(createTcpServer((socket) => void socket.on('error', () => {}).resume()));
}

const SERVICE = new URL('https://pets.test/v1');

test('checkWay finds that a proxy does not run, and says which variable to check', async () => {
  const server = await listening(createHttpServer());
  const port = portOf(server);
  await new Promise((resolve) => server.close(resolve));
  const [name, connection] = await checkWay(SERVICE, proxyAt(port));
  expect(name).toMatchObject({ check: 'dns', outcome: 'ok', message: '127.0.0.1 is an IP address' });
  expect(connection).toMatchObject({
    check: 'connection',
    outcome: 'problem',
    message: `the connection to the proxy http://127.0.0.1:${port} failed: ECONNREFUSED`,
    advice: 'check HTTPS_PROXY, and whether the proxy runs',
  });
});

test('checkWay waits no longer than its patience for a proxy that does not answer', async () => {
  patience.ms = 300;
  const server = await silent();
  const [, connection] = await checkWay(SERVICE, proxyAt(portOf(server)));
  expect(connection).toMatchObject({ outcome: 'problem', facts: { code: 'ETIMEDOUT' } });
});

test('checkWay waits no longer than its patience for a handshake', async () => {
  patience.ms = 1_000;
  const server = await silent();
  const [, connection, handshake] = await checkWay(new URL(`https://127.0.0.1:${portOf(server)}/v1`), undefined);
  expect(connection).toMatchObject({ outcome: 'ok' });
  expect(handshake).toMatchObject({
    check: 'tls',
    outcome: 'problem',
    message: 'the TLS handshake failed: ETIMEDOUT',
    advice: 'check firewalls, VPNs and the MTU',
  });
});

test('checkWay names the host if the other side reset the connection at once, so that its address is not known', async () => {
  const socket = new Socket();
  connect.mockReturnValueOnce(socket);
  setImmediate(() => socket.emit('connect'));
  const [, connection] = await checkWay(new URL('http://127.0.0.1:8080/v1'), undefined);
  expect(connection?.message).toMatch(/^connected to 127\.0\.0\.1:8080 in \d+ ms$/);
});

/** A server that answers the first bytes with these, and ends. */
function answering(bytes: string | Buffer): Promise<Server> {
  return listening(createTcpServer((socket) => void socket.on('error', () => {}).once('data', () => socket.end(bytes))));
}

test('checkWay blames no certificate if server and Node have no version of TLS in common', async () => {
  const alertOfVersion = Buffer.from([21, 3, 1, 0, 2, 2, 70]);
  const server = await answering(alertOfVersion);
  const [, , handshake] = await checkWay(new URL(`https://127.0.0.1:${portOf(server)}/v1`), undefined);
  expect(handshake).toMatchObject({
    message: 'the TLS handshake failed: ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
    advice: 'let the server take TLS 1.2 or 1.3',
    see: 'docs/errors.md#connectionerror-connection',
  });
});

test.each(['http', 'https'])('checkWay says that what listens at the port of an %s proxy speaks another protocol', async (scheme) => {
  const server = await answering('SSH-2.0-OpenSSH_9.2\r\n');
  const [, connection] = await checkWay(SERVICE, { ...proxyAt(portOf(server)), url: `${scheme}://127.0.0.1:${portOf(server)}` });
  const advice = 'check the scheme and the port in HTTPS_PROXY: what listens there speaks another protocol';
  expect(connection).toMatchObject({ outcome: 'problem', advice });
});

test('checkWay reads what a proxy sends at once after its answer to CONNECT, and does not blame the service alone', async () => {
  const server = await answering('HTTP/1.1 200 OK\r\n\r\n<html>Log in</html>');
  const [, connection, handshake] = await checkWay(SERVICE, proxyAt(portOf(server)));
  expect([connection?.outcome, handshake?.facts?.code]).toEqual(['ok', 'ERR_SSL_WRONG_VERSION_NUMBER']);
  expect(handshake).toMatchObject({
    advice: expect.stringMatching(/^check HTTPS_PROXY: .* in place of the service; else check the port of the address/),
    see: 'docs/domains.md#a-proxy-is-in-between',
  });
});

test.each([
  [407, 'check the user and the password: HTTPS_PROXY=http://user:password@…'],
  [403, 'let its administrators allow pets.test:443, or name the host in NO_PROXY'],
  [405, 'check HTTPS_PROXY: what listens there may be no proxy'],
  [501, 'check HTTPS_PROXY: what listens there may be no proxy'],
  [502, 'try again later'],
])('checkWay advises what the status %i of a proxy says', async (status, advice) => {
  const server = await answering(`HTTP/1.1 ${status} No\r\ncontent-length: 0\r\n\r\n`);
  const [, connection] = await checkWay(SERVICE, proxyAt(portOf(server)));
  expect(connection).toMatchObject({ outcome: 'problem', advice, facts: { proxyStatus: status } });
});

test('checkWay asks a proxy over TLS for the certificate of the proxy, not of the service', async () => {
  await using certificates = await Certificates.open();
  await certificates.make('proxy', { host: 'localhost', days: 60 });
  const asked: string[] = [];
  const SNICallback: TlsOptions['SNICallback'] = (name, take) => {
    asked.push(name);
    take(null);
  };
  const server = await listening(createHttpsServer({ ...(await certificates.get('proxy')), SNICallback }));
  const url = `https://localhost:${portOf(server)}`;
  const [, connection] = await checkWay(SERVICE, { variable: 'HTTPS_PROXY', url, shown: url });
  expect([asked, connection?.facts?.code]).toEqual([['localhost'], 'DEPTH_ZERO_SELF_SIGNED_CERT']);
});

function errorWith(code: string): Error {
  return Object.assign(new Error(code), { code });
}

test('checkWay blames no DNS record while no name can be looked up', async () => {
  lookup.mockRejectedValueOnce(errorWith('EAI_AGAIN'));
  expect(await checkWay(SERVICE, undefined)).toMatchObject([
    { message: 'pets.test has no address: EAI_AGAIN', advice: 'check the network of this machine, and its DNS servers' },
  ]);
});

test('checkWay refers for a proxy whose name has no address to the guide for proxies', async () => {
  lookup.mockRejectedValueOnce(errorWith('ENOTFOUND'));
  expect(await checkWay(SERVICE, { variable: 'HTTPS_PROXY', url: 'user:12', shown: 'http://user:12' })).toMatchObject([
    { message: 'user has no address: ENOTFOUND', advice: 'check HTTPS_PROXY', see: 'docs/domains.md#a-proxy-is-in-between' },
  ]);
});

test('checkWay finds that Node gave an address too little time on a slow network', async () => {
  lookup.mockResolvedValueOnce([{ address: '192.0.2.1' }, { address: '2001:db8::1' }]);
  const failed = Object.assign(new AggregateError([errorWith('ETIMEDOUT'), errorWith('ENETUNREACH')]), { code: 'ETIMEDOUT' });
  connect.mockReturnValueOnce(new Socket().destroy(failed));
  const [, connection] = await checkWay(SERVICE, undefined);
  expect(connection).toMatchObject({
    message: 'the connection to pets.test failed: ETIMEDOUT',
    advice: 'on a slow network, start Node with --network-family-autoselection-attempt-timeout=2000',
  });
});

test('checkWay asks the server for the certificate of the name in the address', async () => {
  await using certificates = await Certificates.open();
  await certificates.make('known', { host: 'localhost', days: 60 });
  const asked: string[] = [];
  const SNICallback: TlsOptions['SNICallback'] = (name, take) => {
    asked.push(name);
    take(null);
  };
  const server = await listening(createTlsServer({ ...(await certificates.get('known')), SNICallback }));
  await checkWay(new URL(`https://localhost:${portOf(server)}/v1`), undefined);
  await checkWay(new URL(`https://127.0.0.1:${portOf(server)}/v1`), undefined);
  expect(asked).toEqual(['localhost']);
});
