import type { SandboxOptions } from 'petstore-inventory/sandbox';

/** The key that every scenario accepts. */
export const API_KEY = 'runtime-key';

/** How the service behaves for one test; each runtime gets a service of its own for each of them. */
export interface Scenario {
  options: SandboxOptions;
  /** Whether a page of another origin may read X-RateLimit-* and Retry-After (Fetch standard, Access-Control-Expose-Headers). */
  hidesLimits?: boolean;
}

const TINY = { plans: { tiny: { requestsPerMinute: 5 } }, keys: { [API_KEY]: 'tiny' } };
const BUSINESS = { keys: { [API_KEY]: 'business' } };
const wide = [
  { petId: 9007199254740993n, quantity: 1, status: 'available' },
  { petId: 2, quantity: 2, status: 'sold' },
];

/** Endpoints of other groups: one that tells what it was sent, one that leads elsewhere, one without an answer's body. */
async function echo(request: Request): Promise<Response | undefined> {
  const { pathname, search } = new URL(request.url);
  if (pathname.endsWith('/moved')) return new Response(null, { status: 307, headers: { location: 'http://127.0.0.1:9/elsewhere' } });
  if (pathname.endsWith('/none')) return new Response(null, { status: 204 });
  if (!pathname.endsWith('/echo')) return undefined;
  return Response.json({ method: request.method, search, type: request.headers.get('content-type'), body: await request.text() });
}

export const SCENARIOS = {
  plain: { options: { ...BUSINESS } },
  other: { options: { ...BUSINESS, routes: echo, faults: [{ at: 2, status: 429, headers: { 'retry-after': '1' } }] } },
  echo: { options: { ...BUSINESS, routes: echo } },
  streamed: { options: { ...BUSINESS, routes: echo } },
  watched: { options: { ...BUSINESS } },
  slow: { options: { ...BUSINESS, latency: 200 } },
  wide: { options: { ...BUSINESS, pets: wide } },
  large: { options: { ...BUSINESS, pets: 20_000 } },
  broken: { options: { ...BUSINESS, faults: [{ at: 1, status: 500 }] } },
  reset: { options: { ...BUSINESS, faults: [{ at: 1, fail: 'reset' }] } },
  lost: { options: { ...BUSINESS, faults: [{ fail: 'reset' }] } },
  cut: { options: { ...BUSINESS, faults: [{ fail: 'cut' }] } },
  stalled: { options: { ...BUSINESS, faults: [{ fail: 'stall' }] } },
  'stalled-body': { options: { ...BUSINESS, faults: [{ fail: 'stall-body' }] } },
  moved: { options: { ...BUSINESS, faults: [{ status: 302, headers: { location: 'http://127.0.0.1:9/elsewhere?key=secret' } }] } },
  refusing: { options: { ...BUSINESS, faults: [{ at: 1, status: 429, headers: { 'retry-after': '1' } }] } },
  windowed: { options: { ...TINY, window: 2_000, policy: 'fixed-first' } },
  hidden: { options: { ...TINY, policy: 'fixed-first' }, hidesLimits: true },
  'one-at-a-time': { options: { ...BUSINESS, latency: 300 } },
  ordered: { options: { ...BUSINESS, latency: 300 } },
  abandoned: { options: { ...BUSINESS, faults: [{ at: 1, fail: 'stall' }] } },
  'abandoned-in-order': { options: { ...BUSINESS, faults: [{ at: 1, fail: 'stall' }] } },
} as const satisfies Record<string, Scenario>;

export type ScenarioName = keyof typeof SCENARIOS;
