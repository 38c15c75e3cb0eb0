import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { serveSandbox } from 'petstore-inventory/node';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { examplesOfComments } from './support/doc-comments.ts';
import { type InstalledPackage, installPackage, ROOT } from './support/installed-package.ts';
import { DOCUMENTS, filesOf, type Sample, samplesOf } from './support/samples.ts';

const samples = DOCUMENTS.flatMap((document) => samplesOf(document));
const examples = examplesOfComments();
const commands = samplesOf('README.md', 'sh').filter(({ code }) => code.includes('npx petstore-inventory '));
let installed: InstalledPackage;

beforeAll(async () => {
  installed = await installPackage(['@opentelemetry', 'ioredis', 'ky', 'openapi-fetch', 'redis']);
});
afterAll(() => installed[Symbol.asyncDispose]());

describe.concurrent('Samples', () => {
  test.for(samples)('$place runs and prints what it says', async (sample) => {
    await using service = await serve();
    // Its own folder, so that its files do not clash with those of others.
    const cwd = sample.place.replace(/\W/g, '-');
    await installed.write(`${cwd}/sample.ts`, sample.code);
    // The README promises that its samples run without a key.
    const env = sample.place.startsWith('README') ? {} : service.env;
    const { code, stdout, stderr } = await installed.run(`${cwd}/sample.ts`, { env, cwd });
    expect({ code, stderr: code === 0 ? '' : stderr }).toEqual({ code: 0, stderr: '' });
    expect(told(stdout, sample)).toEqual(sample.prints);
  });

  test('the steps of getting started run one after the other in one file', async () => {
    const steps = samplesOf('docs/getting-started.md', 'ts', '').slice(0, 4);
    await installed.write('stock/stock.mjs', steps.map(({ code }) => code).join(''));
    const { stdout, stderr } = await installed.run('stock/stock.mjs');
    expect({ lines: stdout.trimEnd().split('\n'), stderr }).toEqual({ lines: steps.flatMap(({ prints }) => prints), stderr: '' });
  });

  test.for(commands)('$place runs as written', async ({ code }) => {
    const { folder, env } = installed;
    const { stdout } = await promisify(execFile)('sh', ['-e', '-c', code.replaceAll('npx petstore-inventory', PETSTORE)], {
      cwd: folder,
      env,
    });
    expect(stdout).toContain('pet 1: 12 (available)');
    expect(stdout).toMatch(/minute +299 of 300 left/);
    expect(stdout).toMatch(/\+ 1 +40/);
  });

  test('the nightly job runs as docs/cli.md shows it', async () => {
    await using service = await serve();
    // Other samples for a shell show no output.
    const [night, morning, undo] = samplesOf('docs/cli.md', 'sh').filter(({ prints }) => prints.length > 0);
    // A quota so small that the time is up while the job waits for more.
    expect(await inShell(night, { ...service.env, PETSTORE_PLAN: '5/1000' })).toEqual(night?.prints);
    expect(await inShell(morning, { ...service.env, PETSTORE_PLAN: 'business' })).toEqual(morning?.prints);
    expect(await inShell(undo, { ...service.env, PETSTORE_PLAN: 'business' })).toEqual(undo?.prints);
  });
});

test.for(['docs/recipes.md', 'docs/tracing.md'])('%s shows programs that need no line before them', (document) => {
  expect(samplesOf(document)).toEqual(samplesOf(document, 'ts', ''));
});

test.for(DOCUMENTS)('%s has no code in a language that the tests do not run', (document) => {
  const languages = Array.from(readFileSync(join(ROOT, document), 'utf8').matchAll(/^```(.+)$/gm), ([, language]) => language);
  // Files of a project: test/consumers and test/fleet run them.
  const files = filesOf(document).map(({ folder, name }) => `${folder}/${name}`);
  const others = languages.filter((language) => !files.includes(language?.split(' ')[1] ?? ''));
  expect(others.filter((language) => language !== 'ts' && language !== 'sh')).toEqual([]);
});

describe('The examples in comments', () => {
  let results: ExampleResult[];
  beforeAll(async () => {
    results = await runExamples();
  }, 60_000);

  test.for(examples.map(({ place, prints }, index) => ({ place, prints, index })))('$place runs and prints what it says', (example) => {
    const { printed, error } = results[example.index] ?? { printed: [], error: 'it was not run' };
    expect({ error, printed: example.prints.length === 0 ? [] : printed }).toEqual({ error: undefined, printed: example.prints });
  });
});

interface ExampleResult {
  printed: string[];
  error?: string;
}

async function runExamples(): Promise<ExampleResult[]> {
  const runner = 'test/docs/support/example-runner.ts';
  await installed.copy(runner);
  const paths = examples.map((_, index) => `examples/${index}.ts`);
  await Promise.all(paths.map((path, index) => installed.write(path, examples[index]?.code ?? '')));
  const args = paths.map((path) => join(installed.folder, path));
  const { code, stdout, stderr } = await installed.run(runner, { args, cwd: 'examples' });
  if (code !== 0) throw new Error(`The examples ended with ${code}: ${stderr}`);
  return JSON.parse(stdout);
}

/** What npx finds where the package is installed. */
const PETSTORE = 'node node_modules/petstore-inventory/dist/cli.js';

/** Runs a sample in a shell, where 06:00 is in ten seconds, and gives the lines that it prints on stdout and stderr. */
async function inShell(sample: Sample | undefined, env: Record<string, string>): Promise<string[]> {
  const cwd = join(installed.folder, 'night');
  await mkdir(cwd, { recursive: true });
  const code = sample?.code.replaceAll('npx petstore-inventory', PETSTORE.replace(' ', ' ../')).replaceAll('--until 06:00', '--until 10s');
  const script = `exec 2>&1\n${code}`;
  const { stdout } = await promisify(execFile)('sh', ['-c', script], { cwd, env: { ...installed.env, XDG_STATE_HOME: cwd, ...env } });
  return stdout
    .replaceAll('--until 10s', '--until 06:00')
    .replace(/waiting [56]\d s/, 'waiting 60 s')
    .trimEnd()
    .split('\n');
}

/** The service of documents that do not make one themselves. */
async function serve(): Promise<AsyncDisposable & { env: Record<string, string> }> {
  const { url, keys, close } = await serveSandbox({ policy: 'fixed-first' });
  return { env: { PETSTORE_BASE_URL: url, PETSTORE_API_KEY: keys.business }, [Symbol.asyncDispose]: close };
}

/** What was printed, as far as the sample tells it. */
function told(stdout: string, { prints }: Sample): string[] {
  return prints.length === 0 ? [] : stdout.trimEnd().split('\n');
}
