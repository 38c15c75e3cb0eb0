import type { Sandbox } from 'petstore-inventory/sandbox';

/** Asks production with the free plan's key, unless `init` has headers of its own. */
export function asked(sandbox: Sandbox<string>, path: string, init: RequestInit = {}): Promise<Response> {
  return sandbox.fetch(`${sandbox.baseUrl}${path}`, { headers: { authorization: `Bearer ${sandbox.keys.free}` }, ...init });
}

/** A PATCH with this body as JSON. */
export function patch(body: unknown): RequestInit {
  return { method: 'PATCH', body: JSON.stringify(body) };
}
