import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { createSecureServer, type Http2SecureServer, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { createServer, type Server } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket, type Server as TcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream';
import { createServer as createTlsServer, type Server as TlsServer } from 'node:tls';
import { Server as ProxyServer } from 'proxy-chain';

/** A made-up authority with a certificate for a server and one for a client, as files and as text. */
export interface Authority extends Disposable {
  folder: string;
  ca: string;
  cert: string;
  key: string;
  clientCert: string;
  clientKey: string;
}

/** Makes what a company's own authority would hand out. */
export function makeAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-ca-'));
  const openssl = (...words: string[]) => execFileSync('openssl', words, { cwd: folder, stdio: 'pipe' });
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  openssl('req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2', '-subj', '/CN=Made-up authority');
  for (const [name, hosts] of [
    ['server', 'DNS:localhost,IP:127.0.0.1'],
    ['client', 'DNS:client.test'],
  ]) {
    openssl('req', ...newKey, '-keyout', `${name}.key`, '-out', `${name}.csr`, '-subj', `/CN=${name}`);
    writeFileSync(join(folder, `${name}.ext`), `subjectAltName=${hosts}`);
    const issue = ['-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', `${name}.ext`];
    openssl('x509', '-req', '-in', `${name}.csr`, ...issue, '-out', `${name}.pem`);
  }
  const read = (file: string) => readFileSync(join(folder, file), 'utf8');
  return {
    folder,
    ca: read('ca.pem'),
    cert: read('server.pem'),
    key: read('server.key'),
    clientCert: read('client.pem'),
    clientKey: read('client.key'),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true }),
  };
}

/** A service behind TLS, and how often it was asked. */
export interface SecureService extends AsyncDisposable {
  url: string;
  /** `GET 1.1`: method and version of each request. */
  asked: string[];
}

const LIST = '[{"petId":1,"quantity":2,"status":"sold"}]';
const ITEM = '{"petId":1,"quantity":2,"status":"sold"}';

type Answer = (request: IncomingMessage | Http2ServerRequest, response: ServerResponse | Http2ServerResponse) => void;

function answerInto(asked: string[]): Answer {
  return (request, response) => {
    asked.push(`${request.method} ${request.httpVersion}`);
    response.statusCode = 200;
    response.setHeader('content-type', 'application/json');
    response.end(request.method === 'GET' ? LIST : ITEM);
  };
}

/** A TLS server of the made-up authority; with `wantsClient` it accepts only clients with a certificate of it. */
export async function startTls({ ca, cert, key }: Authority, { wantsClient = false, answer = answerInto } = {}): Promise<SecureService> {
  const asked: string[] = [];
  const server = createServer({ ca, cert, key, requestCert: wantsClient, rejectUnauthorized: wantsClient }, answer(asked));
  return listen(server, asked);
}

/** A server that speaks HTTP/2 only. */
export async function startHttp2({ cert, key }: Authority, answer?: (asked: string[]) => Answer): Promise<SecureService> {
  const asked: string[] = [];
  const server = createSecureServer({ cert, key, allowHTTP1: false }, (answer ?? answerInto)(asked));
  return listen(server, asked);
}

/** A service that accepts connections and says nothing. */
export function startSilent(): Promise<SecureService> {
  return listen(createTcpServer(), []);
}

const HEADERS_FRAME = 1;
const SETTINGS_FRAME = 4;
const GOAWAY_FRAME = 7;
const FRAME_HEAD_BYTES = 9;
const PREFACE_BYTES = 24;

/** A server that answers the first request of each connection with a GOAWAY of HTTP/2 (RFC 9113 section 6.8), and ends. */
export async function startGoAway({ cert, key }: Authority, goAway: { lastStream: number; code: number }): Promise<SecureService> {
  const asked: string[] = [];
  const server = createTlsServer({ cert, key, ALPNProtocols: ['h2'] }, (socket) => {
    let received = Buffer.alloc(0);
    let at = PREFACE_BYTES;
    socket.write(frame(SETTINGS_FRAME, []));
    socket
      .on('error', () => {})
      .on('data', (chunk: Buffer) => {
        received = Buffer.concat([received, chunk]);
        for (; at + FRAME_HEAD_BYTES <= received.length; at += FRAME_HEAD_BYTES + received.readUIntBE(at, 3)) {
          if (received[at + 3] !== HEADERS_FRAME) continue;
          asked.push('a request');
          socket.end(frame(GOAWAY_FRAME, [goAway.lastStream, goAway.code]));
        }
      });
  });
  return listen(server, asked);
}

/** A frame of the connection itself; its payload in words of 32 bits. */
function frame(type: number, words: readonly number[]): Buffer {
  const bytes = Buffer.alloc(FRAME_HEAD_BYTES + words.length * 4);
  bytes.writeUIntBE(words.length * 4, 0, 3);
  bytes[3] = type;
  for (const [index, word] of words.entries()) bytes.writeUInt32BE(word, FRAME_HEAD_BYTES + index * 4);
  return bytes;
}

async function listen(server: Server | TlsServer | TcpServer | Http2SecureServer, asked: string[]): Promise<SecureService> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket.on('error', () => {}).on('close', () => sockets.delete(socket))));
  server.on('tlsClientError', () => {});
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `https://localhost:${portOf(server.address())}/v1`, asked, [Symbol.asyncDispose]: stop };
}

function portOf(address: AddressInfo | string | null): number {
  return typeof address === 'object' && address ? address.port : 0;
}

/** A service without TLS, and its open connections. */
export interface PlainService extends AsyncDisposable {
  url: string;
  sockets: ReadonlySet<Socket>;
}

/** Starts a service without TLS. */
export async function startHttp(answer: RequestListener): Promise<PlainService> {
  const sockets = new Set<Socket>();
  const server = createHttpServer(answer);
  server.on('connection', (socket: Socket) => sockets.add(socket.on('close', () => sockets.delete(socket))));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${portOf(server.address())}/v1`, sockets, [Symbol.asyncDispose]: stop };
}

/** A forward proxy, and the hosts to which it led. */
export interface ForwardProxyServer extends AsyncDisposable {
  /** Without a password. */
  url: string;
  port: number;
  led: string[];
}

/** Starts a forward proxy (CONNECT); with a password it lets only `user` through. It never answers the first `unanswered` requests. */
export async function startProxy(password?: string, { unanswered = 0 } = {}): Promise<ForwardProxyServer> {
  const led: string[] = [];
  let ignored = 0;
  const proxy = new ProxyServer({
    port: 0,
    host: '127.0.0.1',
    prepareRequestFunction: ({ username, password: given, hostname, isHttp }) => {
      ignored += 1;
      if (ignored <= unanswered) return new Promise<never>(() => {});
      const isAllowed = password === undefined || (username === 'user' && given === password);
      if (isAllowed) led.push(`${isHttp ? 'forwarded' : 'tunnel'} ${hostname}`);
      return { requestAuthentication: !isAllowed };
    },
  });
  await proxy.listen();
  return { url: `http://127.0.0.1:${proxy.port}`, port: proxy.port, led, [Symbol.asyncDispose]: () => proxy.close(true) };
}

/** The same behind TLS. It leads connections that choose HTTP/2, which it offers first, nowhere. */
export async function startTlsProxy({ cert, key }: Pick<Authority, 'cert' | 'key'>): Promise<ForwardProxyServer> {
  const proxy = await startProxy();
  const server = createTlsServer({ cert, key, ALPNProtocols: ['h2', 'http/1.1'] }, (socket) => {
    // A client that refuses the certificate resets its connection.
    if (socket.alpnProtocol !== 'h2') pipeline(socket, connect(proxy.port, '127.0.0.1'), socket, () => {});
  });
  const { url, ...front } = await listen(server, []);
  const stop = async () => {
    await front[Symbol.asyncDispose]();
    await proxy[Symbol.asyncDispose]();
  };
  return { url: url.replace('/v1', ''), port: Number(new URL(url).port), led: proxy.led, [Symbol.asyncDispose]: stop };
}
