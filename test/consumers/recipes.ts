import { cp, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { serveSandbox } from '../../src/node/serve.ts';
import { RunningProgram } from '../docs/support/running-program.ts';
import { filesOf } from '../docs/support/samples.ts';
import { CHROMIUM_FLAGS, findChromium } from '../support/chromium.ts';
import { type Check, run } from './check.ts';
import { type Projects, ROOT, TOOLS } from './projects.ts';

const VITE = join(ROOT, 'node_modules/vite');
const TSC = join(ROOT, 'node_modules/typescript/bin/tsc');

/** What a page's project has beside what the recipe shows. */
const PAGE_OPTIONS = {
  ...{ module: 'esnext', moduleResolution: 'bundler', target: 'es2023', lib: ['es2023', 'dom', 'dom.iterable'], types: ['node'] },
  ...{ strict: true, skipLibCheck: true, allowImportingTsExtensions: true, noEmit: true },
};

/** The recipes that are projects of their own, in the tools that they name. */
export async function recipeChecks({ plain }: Projects): Promise<Check[]> {
  const recipes = join(plain, 'recipes');
  await mkdir(recipes);
  await symlink(TOOLS, join(recipes, 'node_modules'), 'dir');
  for (const { folder, name, text } of filesOf('docs/recipes.md')) {
    await mkdir(join(recipes, folder), { recursive: true });
    await writeFile(join(recipes, folder, name), text);
  }
  await completeFolders(recipes);
  return [
    { title: 'the recipe for Jest passes', run: () => runTest(join(recipes, 'jest')) },
    { title: 'the recipe for ts-jest passes and keeps to the types', run: () => runTypedTest(join(recipes, 'ts-jest')) },
    { title: 'the recipe for NestJS passes and keeps to the types', run: () => runTypedTest(join(recipes, 'nestjs')) },
    { title: 'the recipe for Vite serves the stock and ships no key', run: () => runVite(join(recipes, 'vite')) },
  ];
}

/** Adds the files that a recipe describes in words, since they are nearly those of the recipe before. */
async function completeFolders(recipes: string): Promise<void> {
  const at = (path: string) => join(recipes, path);
  for (const folder of ['ts-jest', 'nestjs']) await cp(at('jest/package.json'), at(`${folder}/package.json`));
  await cp(at('ts-jest/jest.config.js'), at('nestjs/jest.config.js'));
  const sample = await readFile(at('jest/sold-out.test.js'), 'utf8');
  await writeFile(at('ts-jest/sold-out.test.ts'), `import { expect, test } from '@jest/globals';\n${sample}`);
  const settings = await readFile(at('ts-jest/tsconfig.json'), 'utf8');
  const decorators = '{ "experimentalDecorators": true, "emitDecoratorMetadata": true,';
  await writeFile(at('nestjs/tsconfig.json'), settings.replace('"compilerOptions": {', `"compilerOptions": ${decorators}`));
}

async function runTypedTest(project: string): Promise<undefined> {
  await run(process.execPath, [TSC, '-p', project, '--noEmit'], { cwd: project });
  return runTest(project);
}

async function runTest(project: string): Promise<undefined> {
  const { stderr } = await run('npm', ['test'], { cwd: project });
  if (!/^Tests: +1 passed, 1 total$/m.test(stderr)) throw new Error(stderr);
}

async function runVite(project: string): Promise<string> {
  await mkdir(join(project, 'node_modules'));
  await symlink(VITE, join(project, 'node_modules/vite'), 'dir');
  await writeFile(join(project, 'package.json'), '{"type":"module"}');
  await writeFile(join(project, 'tsconfig.json'), JSON.stringify({ compilerOptions: PAGE_OPTIONS }));
  await run(process.execPath, [TSC, '-p', project], { cwd: project });
  await using served = await serveSandbox({ pets: [{ petId: 42, quantity: 3 }] });
  const env = { PATH: process.env.PATH ?? '', PETSTORE_BASE_URL: served.url, PETSTORE_API_KEY: served.keys.pro };
  await run(process.execPath, [join(VITE, 'bin/vite.js'), 'build'], { cwd: project, env });
  await expectNoKey(join(project, 'dist'), served.keys.pro);
  await askVite('dev', project, env);
  return await askVite('preview', project, env);
}

/** Neither the key nor the client that would need one is in what a browser loads. */
async function expectNoKey(folder: string, key: string): Promise<void> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => /\.(?:html|js)$/.test(name));
  const texts = await Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
  if (texts.length < 2 || texts.some((text) => text.includes(key) || text.includes('Bearer'))) throw new Error(`a key in ${names}`);
}

async function askVite(command: 'dev' | 'preview', cwd: string, env: Record<string, string>): Promise<string> {
  const options = ['--host', '127.0.0.1', '--port', command === 'dev' ? '5273' : '4273'];
  await using server = new RunningProgram(process.execPath, [join(VITE, 'bin/vite.js'), command, ...options], {
    cwd,
    env: { ...env, NO_COLOR: '1' },
  });
  const [, url = ''] = await server.tells(/Local: +(http:\S+)/);
  const told = await (await fetch(`${url}api/stock`)).text();
  if (told !== '[{"petId":42,"quantity":3,"status":"available"}]') throw new Error(`${command} answered ${told}`);
  const chromium = findChromium();
  if (chromium === undefined) return 'no Chromium to open the page';
  const { stdout } = await run(chromium, ['--headless', ...CHROMIUM_FLAGS, '--virtual-time-budget=5000', '--dump-dom', url]);
  if (!stdout.includes('<li>pet 42: 3</li>')) throw new Error(`the page of ${command} shows ${stdout}`);
  return 'opened in Chromium';
}
