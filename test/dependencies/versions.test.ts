import { expect, test } from 'vitest';
import manifest from '../../package.json' with { type: 'json' };
import { versionsOf } from './versions.ts';

test('versionsOf gives the lowest version of a range, and the range itself for the newest', () => {
  expect(versionsOf({ ky: '^2.1.0' }, 'lowest')).toEqual(['ky@2.1.0']);
  expect(versionsOf({ ky: '^2.1.0' }, 'newest')).toEqual(['ky@^2.1.0']);
});

test.each(['2.1.0', '>=2', '*', '^2'])('versionsOf refuses the range %s', (range) => {
  expect(() => versionsOf({ ky: range }, 'lowest')).toThrow(`Cannot use "${range}" of ky: it must be a caret range such as ^2.1.0`);
});

test('every dependency is a caret range: exact versions are in the lockfile alone', () => {
  const { dependencies, devDependencies } = manifest;
  expect(versionsOf(dependencies, 'lowest')).toHaveLength(4);
  expect(Object.entries(devDependencies).filter(([, range]) => !/^(?:npm:\w+@)?\^\d/.test(range))).toEqual([]);
});
