// The clients that are compared, each as its documentation wires it up; every one lists the same three items.
import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import Bottleneck from 'bottleneck';
import ky from 'ky';
import OpenAI from 'openai';
import pRetry from 'p-retry';
import Stripe from 'stripe';
import * as z from 'zod';
import { PetStoreClient } from '../../dist/index.js';
import { undiciFetch } from '../../dist/undici.js';

export type List = () => Promise<unknown>;
export interface Target {
  baseUrl: string;
  fetch: typeof globalThis.fetch;
}

const KEY = 'bench-key';
const authorization = `Bearer ${KEY}`;

function bareFetch({ baseUrl, fetch }: Target): List {
  return async () => (await fetch(`${baseUrl}/inventory`, { headers: { authorization } })).json();
}

/** With what keeps a program from waiting for ever, as every other client here does. */
function fetchWithTimeLimit({ baseUrl, fetch }: Target): List {
  return async () => (await fetch(`${baseUrl}/inventory`, { headers: { authorization }, signal: AbortSignal.timeout(30_000) })).json();
}

function bareKy({ baseUrl, fetch }: Target): List {
  const http = ky.create({ prefix: baseUrl, headers: { authorization }, fetch });
  return () => http.get('inventory').json();
}

/** ky, zod, p-retry and bottleneck as one writes them first. */
function obvious({ baseUrl, fetch }: Target): List {
  const Items = z.array(z.object({ petId: z.number().int(), quantity: z.number().int(), status: z.string() }));
  const http = ky.create({ prefix: baseUrl, headers: { authorization }, retry: 0, fetch });
  const limiter = new Bottleneck({ reservoir: 1_000_000, maxConcurrent: 64 });
  return () => pRetry(() => limiter.schedule(async () => Items.parse(await http.get('inventory').json())), { retries: 5 });
}

function openai({ baseUrl, fetch }: Target): List {
  const client = new OpenAI({ apiKey: KEY, baseURL: baseUrl, fetch });
  return () => client.get('/inventory');
}

function octokit({ baseUrl, fetch }: Target): List {
  const client = new (Octokit.plugin(retry, throttling))({
    baseUrl,
    auth: KEY,
    request: { fetch },
    throttle: { onRateLimit: () => true, onSecondaryRateLimit: () => true },
  });
  return () => client.request('GET /inventory');
}

function ours({ baseUrl, fetch }: Target): List {
  const client = new PetStoreClient({ apiKey: KEY, baseUrl, fetch, plan: { requestsPerMinute: 1_000_000 } });
  return () => client.listInventory();
}

/** Only over a network: a fetch that is given takes its place. */
function oursByUndici({ baseUrl, fetch }: Target): List {
  return ours({ baseUrl, fetch: fetch === globalThis.fetch ? undiciFetch() : fetch });
}

function stripe({ baseUrl, fetch }: Target): List {
  const { hostname: host, port, pathname } = new URL(baseUrl);
  const client = new Stripe(KEY, { host, port, protocol: 'http', httpClient: Stripe.createFetchHttpClient(fetch) });
  return () => client.rawRequest('GET', `${pathname}/inventory`);
}

export const PEERS: Record<string, (target: Target) => List> = {
  fetch: bareFetch,
  'fetch with a time limit': fetchWithTimeLimit,
  'petstore-inventory': ours,
  'petstore-inventory, undiciFetch': oursByUndici,
  ky: bareKy,
  'ky + p-retry + bottleneck + zod': obvious,
  openai,
  stripe,
  'octokit + retry + throttling': octokit,
};
