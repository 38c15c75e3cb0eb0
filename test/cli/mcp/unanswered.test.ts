import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { beforeEach, describe, expect, test } from 'vitest';
import { Unanswered } from '../../../src/cli/mcp/unanswered.ts';

describe('Unanswered', () => {
  let server: InMemoryTransport;
  let host: InMemoryTransport;
  let unanswered: Unanswered;

  beforeEach(async () => {
    [server, host] = InMemoryTransport.createLinkedPair();
    unanswered = new Unanswered(server);
    await Promise.all([server.start(), host.start()]);
  });

  const ask = (id: number | string) => host.send({ jsonrpc: '2.0', id, method: 'ping' });
  const answer = (id: number | string) => server.send({ jsonrpc: '2.0', id, result: {} });

  test('none() resolves at once if there is none', async () => {
    await expect(unanswered.none()).resolves.toBeUndefined();
  });

  test('none() resolves for every caller, once the requests that came meanwhile are answered too', async () => {
    const log: string[] = [];
    await ask(1);
    const both = ['one', 'other'].map((caller) => unanswered.none().then(() => log.push(caller)));
    await ask('1');
    await answer(1);
    log.push('1 is answered');
    await answer('1');
    await Promise.all(both);
    expect(log).toEqual(['1 is answered', 'one', 'other']);
  });

  test('none() does not wait for a request that the host has cancelled', async () => {
    await ask(1);
    const none = unanswered.none();
    await host.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await expect(none).resolves.toBeUndefined();
  });
});
