// A bare HTTP service in a process of its own: its cost must not count as the client's.
// GET /v1/inventory answers with as many items as the header `x-items` says, PATCH /v1/inventory/{petId} with the item.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';

const ITEMS_PER_BLOCK = 1000;

function head(): Record<string, string> {
  const reset = Math.ceil(Date.now() / 1000) + 60;
  return {
    'content-type': 'application/json',
    'x-ratelimit-limit': '1000000',
    'x-ratelimit-remaining': '999999',
    'x-ratelimit-reset': `${reset}`,
  };
}

function block(from: number, to: number, firstId: bigint): string {
  let text = '';
  for (let row = from; row < to; row++) {
    text += `${row === 0 ? '' : ','}{"petId":${firstId + BigInt(row)},"quantity":${row % 100},"status":"available"}`;
  }
  return text;
}

function list(request: IncomingMessage, response: ServerResponse): void {
  const count = Number(request.headers['x-items'] ?? 3);
  const firstId = BigInt(String(request.headers['x-first-id'] ?? 1));
  response.writeHead(200, head());
  response.write('[');
  let row = 0;
  const more = () => {
    while (row < count) {
      const to = Math.min(count, row + ITEMS_PER_BLOCK);
      const text = block(row, to, firstId);
      row = to;
      if (!response.write(text)) return void response.once('drain', more);
    }
    response.end(']');
  };
  more();
}

function update(request: IncomingMessage, response: ServerResponse): void {
  const petId = request.url?.split('/').at(-1) ?? '1';
  const body = `{"petId":${petId},"quantity":5,"status":"available"}`;
  response.writeHead(200, { ...head(), 'content-length': body.length });
  response.end(body);
}

const server = createServer((request, response) => {
  request.resume().on('end', () => (request.method === 'GET' ? list : update)(request, response));
});
server.listen(0, '127.0.0.1', () => process.send?.(server.address()));
process.on('disconnect', () => process.exit(0));
