import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import ts from 'typescript';
import * as z from 'zod/mini';
import type { Check } from './check.ts';
import { type Projects, ROOT } from './projects.ts';

const Manifest = z.object({ exports: z.record(z.string(), z.union([z.string(), z.object({ types: z.string() })])) });

/** Compares the public types of every door with what was agreed on, so that a change of the API is seen in review. */
export async function apiChecks({ plain }: Projects, { update }: { update: boolean }): Promise<Check[]> {
  const folder = join(plain, 'node_modules/petstore-inventory');
  return Object.entries(await readDoors(folder)).map(([door, types]) => ({
    title: `the public types of ${door} are as agreed`,
    run: () => checkApi(door, { found: describeModule(join(folder, types)), update }),
  }));
}

/** The doors that have types, and where. */
export async function readDoors(folder: string): Promise<Record<string, string>> {
  const { exports } = Manifest.parse(JSON.parse(await readFile(join(folder, 'package.json'), 'utf8')));
  const typed = Object.entries(exports).flatMap(([door, target]) => (typeof target === 'string' ? [] : [[door, target.types] as const]));
  return Object.fromEntries(typed);
}

async function checkApi(door: string, { found, update }: { found: string; update: boolean }): Promise<string | undefined> {
  const path = join(import.meta.dirname, 'api', `${door === '.' ? 'index' : door.slice(2)}.txt`);
  if (update) await writeFile(path, found);
  const agreed = await readFile(path, 'utf8').catch(() => '');
  if (agreed === found) return update ? 'written' : undefined;
  const before = new Set(agreed.split('\n'));
  const after = new Set(found.split('\n'));
  const gone = [...before].filter((line) => !after.has(line)).map((line) => `- ${line}`);
  const come = [...after].filter((line) => !before.has(line)).map((line) => `+ ${line}`);
  const where = path.slice(ROOT.length + 1);
  throw new Error(`${[...gone, ...come].join('\n')}\nIf this is meant: npm run test:consumers -- --update, and commit ${where}`);
}

/** The declarations that a module exports, by name, without comments. */
function describeModule(path: string): string {
  const program = ts.createProgram([path], {
    target: ts.ScriptTarget.ES2023,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
    types: [],
  });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(path);
  const symbol = source && checker.getSymbolAtLocation(source);
  if (!symbol) throw new Error(`${path} exports nothing`);
  const printer = ts.createPrinter({ removeComments: true });
  // The bundler numbers what would have the same name in one file.
  const print = (node: ts.Declaration) => printer.printNode(ts.EmitHint.Unspecified, node, node.getSourceFile()).replaceAll(/\$\d+\b/g, '');
  const describe = (exported: ts.Symbol) => {
    const target = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
    const texts = (target.declarations ?? []).map(print);
    return `// ${exported.name}\n${texts.join('\n')}\n`;
  };
  const exported = checker.getExportsOfModule(symbol).sort((a, b) => (a.name < b.name ? -1 : 1));
  return exported.map(describe).join('\n');
}
