import { createSandbox, type SandboxOptions } from 'petstore-inventory/sandbox';
import { describe, expect, test } from 'vitest';
import { asked } from './ask.ts';

const START_MS = Date.parse('2026-11-21T10:00:45.250Z');

/** Sends these paths one after the other, a second apart, and gives `status/remaining`, with the wait of a 429. */
async function story(options: SandboxOptions, paths: readonly string[]): Promise<string[]> {
  let nowMs = START_MS;
  const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 2 } }, ban: false, clock: () => nowMs, ...options });
  const lines: string[] = [];
  for (const path of paths) {
    const { status, headers } = await asked(sandbox, path);
    const wait = headers.has('retry-after') ? ` wait ${headers.get('retry-after')}` : '';
    lines.push(`${status}/${headers.get('x-ratelimit-remaining')}${wait}`);
    nowMs += 1_000;
  }
  return lines;
}

describe('the option `counting`', () => {
  test('can make statuses free of cost, with every way of counting', async () => {
    const paths = ['/inventory', '/missing', '/inventory', '/inventory'];
    const story404 = (options: SandboxOptions) => story({ counting: { uncounted: [404] }, ...options }, paths);
    const expected = ['200/1', '404/1', '200/0'];
    expect((await story404({ policy: 'fixed-clock' })).slice(0, 3)).toEqual(expected);
    expect((await story404({ policy: 'fixed-first' })).slice(0, 3)).toEqual(expected);
    expect((await story404({ policy: 'sliding-log' })).slice(0, 3)).toEqual(expected);
    expect((await story404({ policy: 'sliding-counter' })).slice(0, 3)).toEqual(expected);
    expect((await story404({ policy: 'token-bucket' })).slice(0, 3)).toEqual(expected);
    expect((await story({}, paths)).slice(0, 3)).toEqual(['200/1', '404/0', '429/0 wait 13']);
  });

  test('applies to the day as to the minute', async () => {
    const plans = { free: { requestsPerMinute: 9, requestsPerDay: 2 } };
    const options = { plans, limitHeaders: 'day', counting: { uncounted: [404] } } as const;
    expect(await story(options, ['/missing', '/inventory', '/missing', '/inventory'])).toEqual(['404/2', '200/1', '404/1', '200/0']);
  });

  test('can let refusals cost quota, so that a log stays full as long as requests come', async () => {
    const paths = ['/inventory', '/inventory', '/inventory', '/inventory'];
    expect(await story({ policy: 'sliding-log', counting: { refused: true } }, paths)).toEqual([
      '200/1',
      '200/0',
      '429/0 wait 59',
      '429/0 wait 59',
    ]);
    expect(await story({ policy: 'token-bucket', counting: { refused: true } }, paths)).toEqual([
      '200/1',
      '200/0',
      '429/0 wait 58',
      '429/0 wait 87',
    ]);
  });
});

describe('counting at completion', () => {
  const completion = { counting: { at: 'completion' }, latency: 100 } as const;

  test('lets requests in flight together pass, and reports what their answers left', async () => {
    const sandbox = createSandbox({ plans: { free: { requestsPerMinute: 3 } }, ...completion });
    sandbox.clock.hold();
    const wave = [asked(sandbox, '/inventory'), asked(sandbox, '/inventory'), asked(sandbox, '/inventory'), asked(sandbox, '/inventory')];
    await new Promise(setImmediate);
    sandbox.clock.advance(50);
    await new Promise(setImmediate);
    sandbox.clock.advance(50);
    const answers = await Promise.all(wave);
    expect(answers.map(({ status, headers }) => `${status}/${headers.get('x-ratelimit-remaining')}`)).toEqual([
      '200/2',
      '200/1',
      '200/0',
      '200/0',
    ]);
  });

  test('costs the same as counting at arrival if requests come one after the other', async () => {
    const statuses = ['/inventory', '/missing', '/inventory', '/inventory'];
    const options = { counting: { at: 'completion', uncounted: [404] } } as const;
    expect(await story(options, statuses)).toEqual(['200/1', '404/1', '200/0', '429/0 wait 12']);
    expect(await story({ ...options, counting: { at: 'completion', refused: true }, policy: 'sliding-log' }, statuses)).toEqual([
      '200/1',
      '404/0',
      '429/0 wait 59',
      '429/0 wait 59',
    ]);
  });
});
