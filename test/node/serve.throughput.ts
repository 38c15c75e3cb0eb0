// Requests per second of a served sandbox beside a bare node:http server: `npm exec node -- test/node/serve.throughput.ts`
import { fork } from 'node:child_process';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { serveSandbox } from '../../src/node/serve.ts';

const CONNECTIONS = 32;
const SECONDS = 3;

async function serve(): Promise<void> {
  const bare = createServer((_request, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('[]'));
  await new Promise<void>((resolve) => bare.listen(0, '127.0.0.1', resolve));
  const address = bare.address();
  const { url, keys } = await serveSandbox({ plans: { free: { requestsPerMinute: 1e9 } } });
  process.send?.({ bare: typeof address === 'object' ? address?.port : 0, sandbox: Number(new URL(url).port), key: keys.free });
}

function isWhole(answer: string): boolean {
  const bodyAt = answer.indexOf('\r\n\r\n') + 4;
  const length = /content-length: (\d+)/i.exec(answer)?.[1];
  return bodyAt > 3 && (length === undefined ? answer.endsWith('\r\n0\r\n\r\n') : answer.length - bodyAt >= Number(length));
}

function countAnswers(port: number, request: string): Promise<number> {
  let answers = 0;
  const sockets = Array.from({ length: CONNECTIONS }, () => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    let received = '';
    return socket.setEncoding('latin1').on('data', (piece) => {
      received += piece;
      if (!isWhole(received)) return;
      received = '';
      answers += 1;
      socket.write(request);
    });
  });
  return new Promise((resolve) => {
    setTimeout(() => {
      for (const socket of sockets) socket.destroy();
      resolve(Math.round(answers / SECONDS));
    }, SECONDS * 1_000);
  });
}

async function measure(ports: { bare: number; sandbox: number; key: string }): Promise<void> {
  const head = `Host: localhost\r\nAuthorization: Bearer ${ports.key}\r\n`;
  const list = `GET /v1/inventory HTTP/1.1\r\n${head}\r\n`;
  const update = `PATCH /v1/inventory/1 HTTP/1.1\r\n${head}Content-Length: 14\r\n\r\n{"quantity":5}`;
  await countAnswers(ports.sandbox, list);
  const bare = await countAnswers(ports.bare, list);
  for (const [name, request] of Object.entries({ list, update })) {
    const perSecond = await countAnswers(ports.sandbox, request);
    console.log(`${name}: ${perSecond} requests/s, bare node:http ${bare} requests/s, ratio ${(perSecond / bare).toFixed(2)}`);
  }
}

if (process.argv[2] === 'serve') await serve();
else {
  const server = fork(new URL(import.meta.url), ['serve']);
  server.once('message', async (ports: { bare: number; sandbox: number; key: string }) => {
    await measure(ports);
    server.kill();
  });
}
