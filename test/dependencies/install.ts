// Installs the lowest or the newest allowed version of each run-time dependency beside the lockfile, for the tests that follow:
// npm run test:dependencies -- lowest && npm test
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { versionsOf } from './versions.ts';

const [which] = process.argv.slice(2);
if (which !== 'lowest' && which !== 'newest') throw new Error(`Cannot install ${which}: it must be lowest or newest`);
const { dependencies } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'));
const versions = versionsOf(dependencies, which);
console.log(versions.join(' '));
execFileSync('npm', ['install', '--no-save', '--no-audit', '--no-fund', '--prefer-online', ...versions], { stdio: 'inherit' });
