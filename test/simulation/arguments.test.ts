import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { readArguments } from './arguments.ts';
import { drawStory } from './story.ts';

describe('readArguments()', () => {
  test.each([
    ['--seeds 5-1', 'Cannot use "5-1" as --seeds: it must be a seed such as 7, or a range such as 1-300'],
    ['--seeds abc', 'Cannot use "abc" as --seeds: it must be'],
    ['--seeds 3,5', 'Cannot use "3,5" as --seeds: it must be'],
    ['--seeds 1-', 'Cannot use "1-" as --seeds: it must be'],
    ['--seeds=', 'Cannot use "" as --seeds: it must be'],
    ['--seeds=-3', 'Cannot use "-3" as --seeds: it must be'],
    ['--seeds 1-3-5', 'Cannot use "1-3-5" as --seeds: it must be'],
    ['--lanes 0', 'Cannot use "0" as --lanes: it must be a whole number from 1 to 999'],
    ['--lanes x', 'Cannot use "x" as --lanes: it must be a whole number from 1 to 999'],
    ['--crashes foo', 'Cannot use "foo" as --crashes: it must be small or all'],
    ['--leases foo', 'Cannot use "foo" as --leases: it must be small or all'],
    ['--plan pro', 'Cannot use --plan: it needs --recording'],
    ['--share 0.5 --seeds 1', 'Cannot use --share: it needs --recording'],
    ['--crashes small --seeds 1-5', 'Cannot use --seeds: it does not go with --crashes'],
    ['--recording a --plan gold', 'Cannot use "gold" as --plan: it must be free, pro, business, unlimited, or requests a minute and a day'],
    [
      '--recording a --share 0',
      'Cannot use --share 0: it must be a part of the quota such as 0.5 or 50%, or low:0.5 for calls of low priority alone',
    ],
    ['--recording=', 'Cannot use "" as --recording: it must be the path of a file'],
    ['--recording', "Cannot simulate: Option '--recording <value>' argument missing (--help lists the options)"],
    ['--seed 7', "Cannot simulate: Unknown option '--seed' (--help lists the options)"],
    ['7', "Cannot simulate: Unexpected argument '7' (--help lists the options)"],
    ['--story {}', 'Cannot use "{}" as --story: it must be a story as a run prints it, with `seed`'],
    ['--story {', 'Cannot use "{" as --story: it must be a story as a run prints it'],
  ])('refuses %s', (given, why) => {
    expect(() => readArguments(given.split(' '))).toThrow(why);
  });

  test.each([
    ['--seeds 7', { first: 7, last: 7 }],
    ['--seeds 1-100', { first: 1, last: 100 }],
    ['--log', { first: 1, last: 300 }],
  ])('takes %s', (given, seeds) => {
    expect(readArguments(given.split(' '))).toMatchObject({ kind: 'seeds', seeds });
  });

  test.each([
    ['0.5', 0.5],
    ['50%', 0.5],
    ['low:0.25', { low: 0.25 }],
    ['low', { low: 0.5 }],
  ])('takes --share %s, as the command line does', (text, share) => {
    const run = readArguments(['--recording', 'a.jsonl', '--plan', '300/10000', '--share', text]);
    expect(run).toMatchObject({ settings: { share, plan: { requestsPerMinute: 300, requestsPerDay: 10_000 } } });
  });

  test('takes a story that a run printed', () => {
    const story = JSON.stringify(drawStory(3));
    expect(readArguments(['--log', '--story', story])).toEqual({ kind: 'story', story: JSON.parse(story) });
  });
});

describe('npm run simulate', () => {
  const simulate = (...given: string[]) =>
    promisify(execFile)(process.execPath, [new URL('run.ts', import.meta.url).pathname, ...given], { maxBuffer: 2 ** 26 });

  test('prints the same log in the order of the seeds, whatever the number of lanes', async () => {
    const one = await simulate('--seeds', '11-18', '--log', '--lanes', '1');
    const two = await simulate('--seeds', '11-18', '--log', '--lanes', '2');
    expect(one.stdout).toMatch(/\n8 stories, nothing was wrong\n$/);
    expect(two.stdout).toBe(one.stdout);
  });

  test('prints how to use it', async () => {
    expect((await simulate('--help')).stdout).toContain('npm run simulate -- [--seeds 1-300]');
  });

  test.each([
    [['--seeds', '5-1'], 'Cannot use "5-1" as --seeds: it must be a seed such as 7, or a range such as 1-300\n'],
    [
      ['--recording', '/nowhere.jsonl'],
      "Cannot replay /nowhere.jsonl, given as --recording: ENOENT: no such file or directory, open '/nowhere.jsonl'\n",
    ],
  ])('says in one line what cannot be done with %j, and exits with 2', async (given, line) => {
    const { code, stderr, stdout } = await simulate(...given).catch((error) => error);
    expect([code, stderr, stdout]).toEqual([2, line, '']);
  });
});
