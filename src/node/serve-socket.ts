import type { ServerResponse } from 'node:http';
import { pipeline } from 'node:stream/promises';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { Exchange } from '../sandbox/service.ts';

/** Sends an answer over a socket, and applies its failure to the connection: a reset is a TCP reset, a stall sends nothing. */
export async function carryOverSocket({ response, failure }: Exchange, outgoing: ServerResponse): Promise<Response> {
  if (failure === undefined && (response.body === null || response.headers.has('content-type'))) return response;
  if (failure === 'stall') return new Promise(() => {});
  if (failure === 'reset' || failure === 'lost') outgoing.socket?.resetAndDestroy();
  else if (failure === undefined) await sendAsItIs(response, outgoing);
  else await sendHalf(response, { outgoing, isCut: failure === 'cut' });
  return RESPONSE_ALREADY_SENT;
}

/** Sends an answer without a Content-Type, to which the adapter would add one. */
async function sendAsItIs({ status, headers, body }: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.setHeaders(headers).writeHead(status);
  // Where the body or the connection breaks, both are destroyed.
  await pipeline(body ?? [], outgoing).catch(() => {});
}

/** Announces a whole body and sends half of it. Then the connection ends, or stalls. */
async function sendHalf(response: Response, { outgoing, isCut }: { outgoing: ServerResponse; isCut: boolean }): Promise<void> {
  const reader = response.body?.getReader();
  const bytes = (await reader?.read())?.value ?? new Uint8Array();
  await reader?.cancel();
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), 'content-length': String(bytes.byteLength) });
  outgoing.write(bytes.slice(0, bytes.byteLength / 2), () => {
    // The rest of a request that is not read would make the end of the connection a reset.
    if (isCut) outgoing.req.resume().socket.end();
  });
}
