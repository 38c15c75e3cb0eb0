import { Octokit } from '@octokit/core';
import { retry } from '@octokit/plugin-retry';
import { throttling } from '@octokit/plugin-throttling';
import ky from 'ky';
import OpenAI from 'openai';
import { type Connect, connectOurs } from './play.ts';

/** So many that no call fails for want of a retry in any wait that a world knows. */
const RETRIES = 50;
const ATTEMPT_TIMEOUT_MS = 30_000;
const LONGEST_BACKOFF_MS = 60_000;

const connectKy: Connect = ({ apiKey, baseUrl, fetch }) => {
  const http = ky.create({
    prefix: baseUrl,
    fetch,
    headers: { authorization: `Bearer ${apiKey}` },
    timeout: ATTEMPT_TIMEOUT_MS,
    retry: { limit: RETRIES, methods: ['get', 'patch'], backoffLimit: LONGEST_BACKOFF_MS, jitter: true, retryOnTimeout: true },
  });
  return {
    list: ({ signal }) => http.get('inventory', { signal }).json(),
    update: (petId, quantity, { signal }) => http.patch(`inventory/${petId}`, { json: { quantity }, signal }).json(),
  };
};

const connectOpenai: Connect = ({ apiKey, baseUrl, fetch }) => {
  const http = new OpenAI({ apiKey, baseURL: baseUrl, fetch, maxRetries: RETRIES, timeout: ATTEMPT_TIMEOUT_MS });
  return {
    list: ({ signal }) => http.get('/inventory', { signal }),
    update: (petId, quantity, { signal }) => http.patch(`/inventory/${petId}`, { body: { quantity }, signal }),
  };
};

/** Clients of one key share their limiters. */
const connectOctokit: Connect = ({ apiKey, baseUrl, fetch }) => {
  const octokit = new (Octokit.plugin(retry, throttling))({
    baseUrl,
    retry: { retries: RETRIES },
    throttle: { id: baseUrl, onRateLimit: () => true, onSecondaryRateLimit: () => true },
  });
  const headers = { authorization: `Bearer ${apiKey}` };
  return {
    list: ({ signal }) => octokit.request('GET /inventory', { headers, request: { fetch, signal } }),
    update: (petId, quantity, { signal }) =>
      octokit.request('PATCH /inventory/{petId}', { petId, quantity, headers, request: { fetch, signal } }),
  };
};

/** Clients that wait and try again, each as its documentation says, with more retries than it takes by default. */
export const PEERS: Readonly<Record<string, Connect>> = {
  'petstore-inventory': connectOurs,
  ky: connectKy,
  openai: connectOpenai,
  'octokit, throttling and retry': connectOctokit,
};
