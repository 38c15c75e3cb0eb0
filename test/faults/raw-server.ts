import { createServer, type Server, type Socket } from 'node:net';

/** One request as it was on the wire. */
export interface RawRequest {
  method: string;
  path: string;
  headers: Record<string, string>;
  body: string;
}

/** What a step can do with the connection on which a request came. */
export interface Wire {
  request: RawRequest;
  socket: Socket;
  /** Sends a whole answer with its Content-Length. */
  answer(status: number, body?: string | Uint8Array, headers?: Record<string, string>): void;
  /** Sends these bytes unchanged. */
  write(text: string | Uint8Array): void;
  /** Ends the connection in good order, behind what was written. */
  end(text?: string | Uint8Array): void;
  reset(): void;
}

/** Answers one request, or does not. */
export type Step = (wire: Wire) => void | Promise<void>;

/** A server that speaks bytes: it takes one step per request, and the last one again and again. */
export class RawServer implements AsyncDisposable {
  readonly requests: RawRequest[] = [];
  /** How many connections were made, and how many of them are over. */
  connections = 0;
  dropped = 0;
  readonly #steps: readonly Step[];
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(steps: readonly Step[]) {
    this.#steps = steps;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async listen(...steps: Step[]): Promise<RawServer> {
    const raw = new RawServer(steps);
    await new Promise<void>((resolve) => raw.#server.listen(0, '127.0.0.1', resolve));
    return raw;
  }

  get url(): string {
    const address = this.#server.address();
    return `http://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}/v1`;
  }

  /** Closes the idle connections, as servers do after a while. */
  dropConnections(): void {
    for (const socket of this.#sockets) socket.end();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket): void {
    this.connections++;
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => {
      this.dropped++;
      this.#sockets.delete(socket);
    });
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1');
      const request = parseRequest(received);
      if (!request) return;
      received = '';
      this.#take(request, socket);
    });
  }

  #take(request: RawRequest, socket: Socket): void {
    this.requests.push(request);
    const step = this.#steps[Math.min(this.requests.length, this.#steps.length) - 1];
    void step?.({
      request,
      socket,
      answer: (status, body = '', headers = {}) => socket.write(message(status, body, headers)),
      write: (text) => void socket.write(text),
      end: (text = '') => void socket.end(text),
      reset: () => void socket.resetAndDestroy(),
    });
  }
}

function parseRequest(text: string): RawRequest | undefined {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [first = '', ...lines] = text.slice(0, end).split('\r\n');
  const headers = Object.fromEntries(lines.map((line) => [line.split(':', 1).join('').toLowerCase(), line.replace(/^[^:]*:\s*/, '')]));
  const body = text.slice(end + 4);
  if (body.length < Number(headers['content-length'] ?? 0)) return undefined;
  const [method = '', path = ''] = first.split(' ');
  return { method, path, headers, body };
}

/** The beginning of an answer, up to its body. */
export function head(status: number, headers: Record<string, string | number> = {}): string {
  const lines = Object.entries({ 'Content-Type': 'application/json', ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} Status\r\n${lines.join('')}\r\n`;
}

/** A whole answer. */
export function message(status: number, body: string | Uint8Array, headers: Record<string, string> = {}): Buffer {
  const bytes = Buffer.from(body);
  return Buffer.concat([Buffer.from(head(status, { 'Content-Length': bytes.length, ...headers })), bytes]);
}
