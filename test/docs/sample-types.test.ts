import { join } from 'node:path';
import ts from 'typescript';
import { expect, test } from 'vitest';
import { examplesOfComments } from './support/doc-comments.ts';
import { ROOT } from './support/installed-package.ts';
import { DOCUMENTS, samplesOf } from './support/samples.ts';

test('Samples keep to the types of the package', () => {
  const samples = [...DOCUMENTS.flatMap((document) => samplesOf(document)), ...examplesOfComments()].map(
    ({ place, code }, index) => [nameOf(place, index), `${code}\nexport {};\n`] as const,
  );
  expect(problemsOf(new Map(samples))).toEqual([]);
});

/** Where a sample would lie, so that it is compiled as a file of this project; names of symbols may differ in case alone. */
function nameOf(place: string, index: number): string {
  return join(ROOT, 'test/docs', `${index}-${place.replace(/\W/g, '-')}.ts`);
}

function problemsOf(samples: ReadonlyMap<string, string>): string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent({ ...config, files: [] }, ts.sys, ROOT);
  const host = ts.createCompilerHost(options);
  const { fileExists, getSourceFile } = host;
  host.fileExists = (name) => samples.has(name) || fileExists(name);
  host.getSourceFile = (name, target, ...rest) => {
    const sample = samples.get(name);
    return sample === undefined ? getSourceFile(name, target, ...rest) : ts.createSourceFile(name, sample, target);
  };
  const program = ts.createProgram([...samples.keys()], { ...options, noUnusedLocals: false }, host);
  const found = [...samples.keys()].flatMap((name) => ts.getPreEmitDiagnostics(program, program.getSourceFile(name)));
  return found.map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`);
}
