import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import * as core from 'petstore-inventory';
import * as node from 'petstore-inventory/node';
import * as sandbox from 'petstore-inventory/sandbox';
import { ROOT } from './installed-package.ts';
import type { Sample } from './samples.ts';

const DOORS = Object.entries({ 'petstore-inventory': core, 'petstore-inventory/sandbox': sandbox, 'petstore-inventory/node': node });
const EXAMPLE = /^ \* @example\n(?<code>(?: \* .*\n)+) \*\/\nexport (?:abstract )?(?:class|function|const) (?<name>\w+)/gm;

/** What a reader of a comment has at hand: the doors of the package, a key and an address. */
const GIVEN = { apiKey: 'process.env.PETSTORE_API_KEY', baseUrl: 'process.env.PETSTORE_BASE_URL' };

/** The examples in the comments of what the package exports. */
export function examplesOfComments(): Sample[] {
  return globSync('src/**/*.ts', { cwd: ROOT }).flatMap((file) => {
    const found = readFileSync(join(ROOT, file), 'utf8').matchAll(EXAMPLE);
    return Array.from(found, ({ groups = {} }) => ({ name: groups.name ?? '', code: (groups.code ?? '').replace(/^ \* /gm, '') }))
      .filter(({ name }) => DOORS.some(([, door]) => name in door))
      .map(({ name, code }) => ({ place: `${file} ${name}`, code: `${importsOf(code)}${givenOf(code)}${code}`, prints: [] }));
  });
}

function importsOf(code: string): string {
  const imports = DOORS.map(([door, exported]) => [door, Object.keys(exported).filter((name) => isUsed(name, code))] as const);
  return imports.map(([door, names]) => (names.length === 0 ? '' : `import { ${names.join(', ')} } from '${door}';\n`)).join('');
}

function givenOf(code: string): string {
  return Object.entries(GIVEN)
    .filter(([name]) => isUsed(name, code))
    .map(([name, value]) => `const ${name} = ${value};\n`)
    .join('');
}

function isUsed(name: string, code: string): boolean {
  return new RegExp(`(?<!\\.)\\b${name}\\b`).test(code);
}
