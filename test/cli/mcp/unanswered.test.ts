import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { beforeEach, describe, expect, test } from 'vitest';
import { Unanswered } from '../../../src/cli/mcp/unanswered.ts';
import { deferred } from '../../support/deferred.ts';
import { nextTurn } from '../../support/unhandled.ts';

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

  test('none() waits until an answer is written', async () => {
    const written = deferred<void>();
    const log: string[] = [];
    const [slow, asking] = InMemoryTransport.createLinkedPair();
    slow.send = () => written.promise;
    const slowly = new Unanswered(slow);
    await Promise.all([slow.start(), asking.start()]);
    await asking.send({ jsonrpc: '2.0', id: 1, method: 'ping' });
    const none = slowly.none().then(() => log.push('none'));
    const sent = slow.send({ jsonrpc: '2.0', id: 1, result: {} });
    await nextTurn();
    log.push('is written');
    written.resolve();
    await Promise.all([sent, none]);
    expect(log).toEqual(['is written', 'none']);
  });

  test('none() does not wait for a request that the host has cancelled', async () => {
    await ask(1);
    const none = unanswered.none();
    await host.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } });
    await expect(none).resolves.toBeUndefined();
  });
});
