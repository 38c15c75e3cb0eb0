import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { readDoors } from './api.ts';
import { type Check, run } from './check.ts';
import { type Projects, ROOT, TOOLS } from './projects.ts';

const COMPILERS = { '6.0': join(ROOT, 'node_modules/typescript/bin/tsc'), '5.9': join(TOOLS, 'typescript-5.9/bin/tsc') } as const;
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
  await writeFile(join(node, 'doors.ts'), importAll(doors));
  await writeFile(join(plain, 'doors.ts'), importAll(doors.filter((door) => door !== './otel')));
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

function importAll(doors: readonly string[]): string {
  const names = doors.map((door) => `petstore-inventory${door.slice(1)}`);
  return names.map((name, index) => `export * as door${index} from '${name}';\n`).join('');
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
