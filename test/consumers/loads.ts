import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Check, expectLines, PROGRAM_LINE, run } from './check.ts';
import { type Projects, ROOT, TOOLS } from './projects.ts';

/** Node's oldest version that the package supports is there where the runtimes were installed. */
const NODES = {
  'Node 22.13': join(ROOT, 'test/runtimes/node-22-oldest/node_modules/.bin/node'),
  'Node 24': process.execPath,
} as const;

const WITHOUT_UNDICI =
  'ConfigurationError fetch Cannot use undiciFetch as `fetch`: the package undici cannot be loaded; install undici 7, or 8 from Node 22.19 on';

export function loadChecks({ plain, node }: Projects): Check[] {
  const nodes = Object.entries(NODES).filter(([, program]) => existsSync(program));
  const inNode = nodes.flatMap(([name, program]) => [
    { title: `require() loads it in ${name}`, run: () => expectLines(program, [join(plain, 'require.cjs')], [PROGRAM_LINE]) },
    { title: `import loads it in ${name}`, run: () => expectLines(program, [join(plain, 'program.js')], [PROGRAM_LINE]) },
  ]);
  return [
    ...inNode,
    {
      title: 'import loads it beside the oldest API of OpenTelemetry',
      run: () => expectLines(process.execPath, [join(node, 'traced.js')], [PROGRAM_LINE, 'listInventory updateInventory updateInventory']),
    },
    {
      title: 'undiciFetch says what to install where undici is not',
      run: () => expectLines(process.execPath, [join(plain, 'without-undici.js')], [WITHOUT_UNDICI]),
    },
    { title: 'Jest runs tests that use it', run: () => runJest(plain) },
    ...['petstore', 'petstore-inventory'].map((name) => ({
      title: `npx ${name} runs the command line`,
      run: async () => void (await run('npx', ['--no-install', name, '--help'], { cwd: plain })),
    })),
  ];
}

async function runJest(project: string): Promise<undefined> {
  const config = join(project, 'jest.config.json');
  await writeFile(config, JSON.stringify({ rootDir: project, testMatch: ['**/*.test.mjs'], transform: {} }));
  await run(process.execPath, ['--experimental-vm-modules', join(TOOLS, 'jest/bin/jest.js'), '--config', config], { cwd: project });
}
