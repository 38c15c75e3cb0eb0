import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import manifest from '../package.json' with { type: 'json' };

/** What the package exports, and every file of its build, of which some are loaded only when they are needed. */
async function modules(): Promise<string[]> {
  const doors = Object.keys(manifest.exports).filter((door) => !door.endsWith('.json'));
  const files = (await readdir('dist', { recursive: true })).filter((file) => file.endsWith('.js'));
  return [
    ...doors.map((door) => door.replace('.', manifest.name)),
    ...files.map((file) => new URL(`../dist/${file}`, import.meta.url).href),
  ];
}

test.skipIf(!existsSync('dist'))('Every export and every file of the build can be imported', async () => {
  const source = `
    process.argv.push('petstore', '--version');
    const loads = ${JSON.stringify(await modules())}.map((name) => import(name).then(() => [], (error) => [name, String(error)]));
    console.log(JSON.stringify((await Promise.all(loads)).flat()));`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source]);
  expect(stdout.split('\n').sort()).toEqual(['', manifest.version, '[]']);
});
