import { readdirSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import ts from 'typescript';

/** One file of src/, parsed. */
export interface SourceFile {
  /** Below src/, such as `quota/gate/gate.ts`. */
  path: string;
  lines: number;
  tree: ts.SourceFile;
  /** What it imports or exports on, types too: a path below src/, or the name of a package. */
  imports: string[];
}

const SRC = new URL('../../src/', import.meta.url);

/** Every file of src/ but declarations. */
export function readSource(): SourceFile[] {
  const paths = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).map((path) => path.replaceAll('\\', '/'));
  return paths.filter((path) => /(?<!\.d)\.tsx?$/.test(path)).map(readFile);
}

function readFile(path: string): SourceFile {
  const text = readFileSync(new URL(path, SRC), 'utf8');
  const tree = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  return { path, lines: text.split('\n').length - 1, tree, imports: specifiersOf(tree).map((from) => resolve(path, from)) };
}

function specifiersOf(tree: ts.SourceFile): string[] {
  return nodesOf(tree).flatMap((node) => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return textOf(node.moduleSpecifier);
    if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument)) return textOf(node.argument.literal);
    if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword) return textOf(node.arguments[0]);
    return [];
  });
}

function textOf(literal: ts.Node | undefined): string[] {
  return literal && ts.isStringLiteralLike(literal) ? [literal.text] : [];
}

function resolve(path: string, from: string): string {
  return from.startsWith('.') ? posix.join(posix.dirname(path), from) : from;
}

/** A tree as a list. */
export function nodesOf(node: ts.Node): ts.Node[] {
  const found: ts.Node[] = [];
  const visit = (child: ts.Node) => {
    found.push(child);
    ts.forEachChild(child, visit);
  };
  visit(node);
  return found;
}

/** The folder of a path below src/, or the name of a file at its top, or the package. */
export function layerOf(path: string): string {
  return path.replace(/\.ts$/, '').replace(/\/.*/, '');
}

/** The cycles among files, each told once as the path that leads back to its beginning. */
export function cyclesOf(files: readonly Pick<SourceFile, 'path' | 'imports'>[]): string[] {
  const imports = new Map(files.map((file) => [file.path, file.imports]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const walk = (path: string, trail: readonly string[]) => {
    const at = trail.indexOf(path);
    if (at >= 0) cycles.push([...trail.slice(at), path].join(' -> '));
    if (at >= 0 || done.has(path)) return;
    for (const next of imports.get(path) ?? []) walk(next, [...trail, path]);
    done.add(path);
  };
  for (const { path } of files) walk(path, []);
  return cycles;
}

/** Every function with a body: where it is and how many lines it has. */
export function functionsOf({ path, tree }: SourceFile): { where: string; lines: number }[] {
  return nodesOf(tree).flatMap((node) => {
    if (!ts.isFunctionLike(node) || !('body' in node) || !node.body) return [];
    const [first, last] = [node.getStart(), node.end].map((at) => tree.getLineAndCharacterOfPosition(at).line);
    return [{ where: `${path}:${(first ?? 0) + 1}`, lines: (last ?? 0) - (first ?? 0) + 1 }];
  });
}

/** Type claims that the compiler does not check: `any`, `!`, and every assertion but `as const`. */
export function uncheckedOf({ path, tree }: SourceFile): string[] {
  return nodesOf(tree)
    .filter(isUnchecked)
    .map((node) => `${path}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1} ${node.getText()}`);
}

function isUnchecked(node: ts.Node): boolean {
  if (ts.isAsExpression(node)) return !ts.isConstTypeReference(node.type);
  return node.kind === ts.SyntaxKind.AnyKeyword || ts.isNonNullExpression(node) || ts.isTypeAssertionExpression(node);
}
