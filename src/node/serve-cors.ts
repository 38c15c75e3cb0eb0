import type { IncomingHttpHeaders } from 'node:http';
import * as z from 'zod/mini';
import { SandboxError, show } from '../sandbox/sandbox-error.ts';

export const corsSchema = z.union([z.string(), z.array(z.string())]);
export const CORS_RULE = 'it must be an origin as browsers send it, such as "http://localhost:5173", or a list of origins';

/** A page may send any method and header. The wildcard does not include the header of the key (Fetch standard, CORS-preflight fetch). */
const PERMISSION = {
  'access-control-allow-methods': '*',
  'access-control-allow-headers': 'authorization, *',
  'access-control-max-age': '600',
};

/** The origins as a list. @throws {SandboxError} for a text that no browser sends as `Origin` */
export function listOrigins(cors: string | readonly string[] = []): readonly string[] {
  const origins = typeof cors === 'string' ? [cors] : cors;
  for (const origin of origins) if (!isOrigin(origin)) throw new SandboxError(`Cannot use ${show(origin)} as \`cors\`: ${CORS_RULE}`);
  return origins;
}

/** Whether a browser may send the text as `Origin`. Not `null`, which a page from a file sends, since a frame of any site may send it too. */
function isOrigin(text: string): boolean {
  const url = URL.parse(text);
  return !!url?.host && text === `${url.protocol}//${url.host}`;
}

interface Exchanged {
  readonly incoming: { readonly method?: string | undefined; readonly headers: IncomingHttpHeaders };
  readonly outgoing: { setHeader(name: string, value: string): unknown };
}

/** Lets pages of these origins read the answer, whatever it will be. Returns that to a preflight, which the service does not receive. */
export function shareAnswer({ incoming, outgoing }: Exchanged, origins: readonly string[]): Response | undefined {
  const { origin, 'access-control-request-method': asked } = incoming.headers;
  const isListed = origin !== undefined && origins.includes(origin);
  outgoing.setHeader('vary', 'Origin');
  if (isListed) outgoing.setHeader('access-control-allow-origin', origin);
  if (isListed) outgoing.setHeader('access-control-expose-headers', '*');
  if (incoming.method !== 'OPTIONS' || asked === undefined) return undefined;
  return new Response(null, { status: 204, headers: isListed ? PERMISSION : {} });
}
