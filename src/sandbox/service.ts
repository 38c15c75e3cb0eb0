import { Hono } from 'hono';
import { errorAnswer } from './answers.ts';
import { BASE_PATHS } from './environments.ts';
import type { Failure } from './faults.ts';
import { type Desk, receive, type ServiceEnv } from './reception.ts';
import { createRoutes } from './routes.ts';
import { SandboxError } from './sandbox-error.ts';

/** An answer, and the failure with which the transport (a function call or a socket) has to break the exchange, if any. */
export interface Exchange {
  readonly response: Response;
  readonly failure: Failure | undefined;
  /** What the caller did wrong, if that is the failure. */
  readonly cause?: unknown;
}

/** The service without its transport. It rejects with a `SandboxError` if a function of the caller's that faults or latencies ask failed. */
export type Service = (request: Request) => Promise<Exchange>;

/** Assembles the service: domains first, then one set of routes for each environment. */
export function createService(desk: Desk): Service {
  const app = new Hono<ServiceEnv>();
  app.use('*', async (context, next) => {
    const redirect = desk.domains.redirectOf(context.req.url);
    if (redirect === undefined) return next();
    return dated(new Response(null, { status: redirect.status, headers: { location: redirect.location } }), desk);
  });
  for (const environment of ['production', 'staging'] as const) {
    const path = BASE_PATHS[environment];
    app.use(`${path}/*`, receive(environment, desk));
    app.route(path, createRoutes(desk.stocks[environment], desk));
  }
  app.notFound(() => dated(errorAnswer({ status: 404, code: 'not_found', message: 'There is no such path' }), desk));
  app.onError((error) => {
    // The sandbox is set up wrongly, and an answer would hide that.
    if (error instanceof SandboxError) throw error;
    return errorAnswer({ status: 500, code: 'internal', message: `The sandbox could not answer: ${error.message}` });
  });
  return (request) => exchange(app, request);
}

/** For an answer to a request that no environment receives. */
function dated(response: Response, { clock, rules: { date } }: Desk): Response {
  if (date !== false) response.headers.set('date', new Date(clock.now() + date.aheadMs).toUTCString());
  return response;
}

/** How an exchange breaks where its answer has no body to break. */
const WITHOUT_BODY: Readonly<Partial<Record<Failure, Failure>>> = { cut: 'lost', 'stall-body': 'stall' };

async function exchange(app: Hono<ServiceEnv>, request: Request): Promise<Exchange> {
  const broken: Pick<Exchange, 'failure' | 'cause'>[] = [];
  const response = await app.fetch(request, { breakOff: (failure, cause) => broken.push({ failure, cause }) });
  const [{ failure, cause } = {}] = broken;
  const instead = failure && response.body === null ? WITHOUT_BODY[failure] : undefined;
  return { response, failure: instead ?? failure, cause };
}
