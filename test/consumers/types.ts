import { writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { readDoors } from './api.ts';
import { type Check, run } from './check.ts';
import { type Projects, ROOT, TOOLS } from './projects.ts';

const COMPILERS = {
  '5.6': join(TOOLS, 'typescript-5.6/bin/tsc'),
  '6.0': join(ROOT, 'node_modules/typescript/bin/tsc'),
  '7.0': join(TOOLS, 'typescript-7.0/bin/tsc'),
} as const;
const RESOLUTIONS = {
  nodenext: { module: 'nodenext', moduleResolution: 'nodenext' },
  bundler: { module: 'esnext', moduleResolution: 'bundler' },
} as const;
const STRICTNESS = {
  strict: { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
  'not strict': { strict: false },
} as const;

const BASE = { target: 'es2022', noEmit: true, skipLibCheck: false } as const;
const WITH_DOM = { lib: ['ES2022', 'DOM', 'DOM.Iterable', 'DOM.AsyncIterable'], types: [] } as const;
const WITH_NODE = { lib: ['ES2023'], types: ['node'] } as const;

/** Every compiler, way to resolve and strictness in a project for browsers; what differs with the types of Node, and what needs OpenTelemetry, in one for Node. */
export async function typeChecks({ plain, node }: Projects): Promise<Check[]> {
  const doors = Object.keys(await readDoors(join(plain, 'node_modules/petstore-inventory')));
  await writeFile(join(node, 'doors.ts'), await importAll(node, doors));
  const withoutPeers = doors.filter((door) => door !== './otel');
  await writeFile(join(plain, 'doors.ts'), await importAll(plain, withoutPeers));
  return Object.entries(COMPILERS).flatMap(([version, compiler]) => [
    ...Object.entries(RESOLUTIONS).flatMap(([resolution, resolve]) =>
      Object.entries(STRICTNESS).map(([strictness, strict]) =>
        check(`TypeScript ${version}, ${resolution}, ${strictness}, without types of Node`, compiler, {
          project: plain,
          options: { ...BASE, ...resolve, ...strict, ...WITH_DOM },
        }),
      ),
    ),
    check(`TypeScript ${version}, nodenext, strict, with types of Node and without those of a browser`, compiler, {
      project: node,
      options: { ...BASE, ...RESOLUTIONS.nodenext, ...STRICTNESS.strict, ...WITH_NODE },
    }),
  ]);
}

/** A module that imports every door, and compiles only if the values in its types are those that it exports. */
async function importAll(project: string, doors: readonly string[]): Promise<string> {
  const { resolve } = createRequire(join(project, 'package.json'));
  const imports = doors.map(async (door, index) => {
    const name = `petstore-inventory${door.slice(1)}`;
    const values = Object.keys(await import(pathToFileURL(resolve(name)).href)).map((value) => `${value}: true`);
    return `import * as door${index} from '${name}';\nexport const values${index}: Record<keyof typeof door${index}, true> = { ${values.join(', ')} };\n`;
  });
  return (await Promise.all(imports)).join('');
}

interface Compilation {
  project: string;
  options: object;
}

function check(title: string, compiler: string, { project, options }: Compilation): Check {
  return {
    title,
    run: async () => {
      const config = join(project, `tsconfig.${title.replace(/[^\w.]+/g, '-')}.json`);
      await writeFile(config, JSON.stringify({ compilerOptions: options, files: ['app.ts', 'doors.ts'] }));
      await run(process.execPath, [compiler, '-p', config], { cwd: project });
      return undefined;
    },
  };
}
