// Files of unit tests share a few threads, since starting one takes longer than most files do. Each file gets the modules of this
// package anew, and fails if it leaves the thread in another state than it found it in.
import http from 'node:http';
import https from 'node:https';
import os from 'node:os';
import { afterAll, expect, vi } from 'vitest';

vi.resetModules();

/** What tests change, by name. Of the environment only the names are shown. */
const stateOfThread = (): Record<string, unknown> => ({
  setTimeout: globalThis.setTimeout,
  clearTimeout: globalThis.clearTimeout,
  setInterval: globalThis.setInterval,
  clearInterval: globalThis.clearInterval,
  setImmediate: globalThis.setImmediate,
  queueMicrotask: globalThis.queueMicrotask,
  nextTick: process.nextTick,
  Date: globalThis.Date,
  'Date.now': Date.now,
  'performance.now': performance.now,
  'AbortSignal.timeout': AbortSignal.timeout,
  'Math.random': Math.random,
  'Atomics.wait': Atomics.wait,
  'os.uptime': os.uptime,
  fetch: globalThis.fetch,
  'http.request': http.request,
  'http.ClientRequest': http.ClientRequest,
  'https.request': https.request,
  'http.globalAgent': http.globalAgent,
  'https.globalAgent': https.globalAgent,
  'the dispatcher of fetch': Reflect.get(globalThis, Symbol.for('undici.globalDispatcher.1')),
  console: globalThis.console,
  'console.warn': console.warn,
  'console.error': console.error,
  'process.stdout.write': process.stdout.write,
  'process.stderr.write': process.stderr.write,
  'process.exitCode': process.exitCode,
  'process.platform': process.platform,
  'process.cwd()': process.cwd(),
  ...Object.fromEntries(Object.entries(process.env).map(([name, value]) => [`process.env.${name}`, value])),
  ...Object.fromEntries(process.eventNames().map((name) => [`process.on('${String(name)}')`, process.listenerCount(name)])),
});

const before = stateOfThread();

afterAll(() => {
  const after = stateOfThread();
  const changed = Object.keys({ ...before, ...after }).filter((name) => after[name] !== before[name]);
  expect(changed, 'what this file leaves changed').toEqual([]);
});
