import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createSandbox, type Sandbox } from 'petstore-inventory/sandbox';
import { listen, stop } from './loopback.ts';
import { SCENARIOS, type Scenario } from './scenarios.ts';

/** The sandbox over loopback HTTP: `/<scenario>/<runtime>/v1` is a service of its own, `/<scenario>/<runtime>/report` its counts. */
export interface Service {
  origin: string;
  close(): Promise<void>;
}

export async function startService(): Promise<Service> {
  const sandboxes = new Map<string, Sandbox>();
  const server = createServer((request, response) => {
    answer(sandboxes, request, response).catch(() => response.destroy());
  });
  return { origin: await listen(server), close: () => stop(server) };
}

async function answer(sandboxes: Map<string, Sandbox>, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const [, name = '', runtime = '', ...rest] = (request.url ?? '').split('/');
  const scenario = Object.entries<Scenario>(SCENARIOS).find(([known]) => known === name)?.[1];
  if (!scenario) return void response.writeHead(404).end();
  setCors(response, scenario);
  if (request.method === 'OPTIONS') return void response.writeHead(204).end();
  const id = `${name}/${runtime}`;
  const sandbox = sandboxes.get(id) ?? createSandbox(scenario.options);
  sandboxes.set(id, sandbox);
  if (rest[0] === 'report') return void response.end(JSON.stringify(sandbox.report()));
  await pass(sandbox, rest.slice(1).join('/'), { request, response });
}

function setCors(response: ServerResponse, { hidesLimits = false }: Scenario): void {
  response.setHeader('access-control-allow-origin', '*');
  response.setHeader('access-control-allow-methods', 'GET, PATCH, POST, PUT, DELETE');
  response.setHeader('access-control-allow-headers', 'authorization, content-type, accept');
  const shown = 'date, retry-after, x-ratelimit-limit, x-ratelimit-remaining, x-ratelimit-reset';
  if (!hidesLimits) response.setHeader('access-control-expose-headers', shown);
}

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
}

async function pass(sandbox: Sandbox, path: string, { request, response }: Exchange): Promise<void> {
  const { authorization = '', 'content-type': type = '' } = request.headers;
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const sent = await sandbox.fetch(`${sandbox.baseUrl}/${path}`, {
    method: request.method ?? 'GET',
    headers: type === '' ? { authorization } : { authorization, 'content-type': type },
    body: request.method === 'GET' || request.method === 'HEAD' ? null : await readText(request),
    redirect: 'manual',
    signal: gone.signal,
  });
  response.writeHead(sent.status, Object.fromEntries(sent.headers));
  response.flushHeaders();
  for await (const chunk of sent.body ?? []) response.write(chunk);
  response.end();
}

async function readText(request: IncomingMessage): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of request) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
}
