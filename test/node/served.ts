import { connect } from 'node:net';
import { type ServedSandbox, type ServeSandboxOptions, serveSandbox } from 'petstore-inventory/node';
import { onTestFinished } from 'vitest';

/** Serves a sandbox for one test. */
export async function started(options: ServeSandboxOptions = {}): Promise<ServedSandbox<string>> {
  const served = await serveSandbox(options);
  onTestFinished(() => served.close());
  return served;
}

/** Sends bytes as they are and gives everything that comes back until the connection ends. */
export function rawAnswer(url: string, text: string, { isHalfClosed = false } = {}): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect(Number(new URL(url).port), '127.0.0.1', () => {
      if (isHalfClosed) socket.end(text, 'latin1');
      else socket.write(text, 'latin1');
    });
    socket.setEncoding('latin1');
    socket.on('data', (piece) => {
      answer += piece;
    });
    socket.on('error', () => resolve(answer));
    socket.on('close', () => resolve(answer));
  });
}
