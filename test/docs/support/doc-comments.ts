import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import ts from 'typescript';
import manifest from '../../../package.json' with { type: 'json' };
import { ROOT } from './installed-package.ts';
import { outputsOf, type Sample } from './samples.ts';

/** The variables that examples may use without declaring them, as the page of the package says. */
const GIVEN = {
  petstore: 'const petstore = new PetStoreClient({ apiKey: sandbox.keys.business, baseUrl: sandbox.baseUrl, fetch: sandbox.fetch });\n',
  sandbox: 'const sandbox = createSandbox();\n',
  apiKey: "const apiKey = process.env.PETSTORE_API_KEY ?? '';\n",
  baseUrl: "const baseUrl = process.env.PETSTORE_BASE_URL ?? '';\n",
};

/** What an example may use of other packages. */
const FOREIGN = {
  Redis: 'ioredis',
  createClient: 'redis',
  InMemorySpanExporter: '@opentelemetry/sdk-trace',
  SimpleSpanProcessor: '@opentelemetry/sdk-trace',
  TracerProvider: '@opentelemetry/sdk-trace',
};

/** What a door exports, and where it is declared. */
interface Exported {
  name: string;
  /** Whether it exists for the compiler only. */
  isType: boolean;
  door: string;
  file: string;
}

/** The examples in the comments of what the package exports, with what is given before them. */
export function examplesOfComments(): Sample[] {
  const exported = Object.keys(manifest.exports).flatMap((door) => exportedBy(door));
  const files = new Set(exported.map(({ file }) => file));
  const isPublic = (name: string) => exported.some((symbol) => symbol.name === name.replace(/\..*/, ''));
  return [...files].flatMap((file) =>
    commentsOf(parse(file))
      .filter(({ name }) => isPublic(name))
      .flatMap(({ name, text }) =>
        examplesIn(text).map((example, index) => {
          const code = withGiven(example);
          const place = `${file} ${name}${index === 0 ? '' : ` (${index + 1})`}`;
          return { place, code: `${importsOf(code, exported)}${code}`, prints: outputsOf(example) };
        }),
      ),
  );
}

function parse(file: string): ts.SourceFile {
  return ts.createSourceFile(file, readFileSync(join(ROOT, file), 'utf8'), ts.ScriptTarget.Latest, true);
}

function exportedBy(door: string): Exported[] {
  const index = `src/${door === '.' ? '' : `${door.slice(2)}/`}index.ts`;
  if (!existsSync(join(ROOT, index))) return [];
  return exportsOf(index).map((symbol) => ({ ...symbol, door: `${manifest.name}${door.slice(1)}` }));
}

/** What a file declares for others or passes on. */
function exportsOf(file: string): Omit<Exported, 'door'>[] {
  return parse(file).statements.flatMap((statement) => {
    const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
    if (isExported(statement)) return declarationsIn(statement).map((declaration) => ({ name: nameOf(declaration), isType, file }));
    if (!ts.isExportDeclaration(statement) || !statement.moduleSpecifier || !ts.isStringLiteral(statement.moduleSpecifier)) return [];
    const passedOn = exportsOf(join(dirname(file), statement.moduleSpecifier.text));
    const { exportClause } = statement;
    if (!exportClause || !ts.isNamedExports(exportClause)) return passedOn;
    return exportClause.elements.flatMap(({ name, isTypeOnly }) =>
      passedOn
        .filter((symbol) => symbol.name === name.text)
        .map((symbol) => ({ ...symbol, isType: symbol.isType || isTypeOnly || statement.isTypeOnly })),
    );
  });
}

function isExported(statement: ts.Statement): boolean {
  const modifiers = ts.canHaveModifiers(statement) ? ts.getModifiers(statement) : undefined;
  return modifiers?.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) === true;
}

function declarationsIn(statement: ts.Statement): ts.NamedDeclaration[] {
  if (ts.isVariableStatement(statement)) return [...statement.declarationList.declarations];
  if (ts.isFunctionDeclaration(statement) || ts.isClassDeclaration(statement)) return [statement];
  return ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement) ? [statement] : [];
}

function nameOf(declaration: ts.NamedDeclaration): string {
  return ts.getNameOfDeclaration(declaration)?.getText() ?? '';
}

/** The comments of a file's declarations and of their members. */
function commentsOf(source: ts.SourceFile): { name: string; text: string }[] {
  return source.statements.flatMap((statement) => {
    const members = ts.isClassDeclaration(statement) || ts.isInterfaceDeclaration(statement) ? [...statement.members] : [];
    const own = declarationsIn(statement).map(nameOf).join();
    return [
      ...textsOf(statement).map((text) => ({ name: own, text })),
      ...members.flatMap((member) => textsOf(member).map((text) => ({ name: `${own}.${nameOf(member)}`, text }))),
    ];
  });
}

function textsOf(node: ts.Node): string[] {
  return ts
    .getJSDocCommentsAndTags(node)
    .filter(ts.isJSDoc)
    .map((comment) => comment.getText());
}

/** What follows `@example`, up to the next tag, without the comment's own marks. */
function examplesIn(comment: string): string[] {
  const text = comment.replace(/\s*\*\/$/, '').replace(/^\s*\* ?/gm, '');
  const sections = text.split(/^(?=@\w)/m).filter((section) => section.startsWith('@example\n'));
  return sections.map((section) => `${section.slice('@example\n'.length).trimEnd()}\n`);
}

/** Adds the declarations from the last to the first, so that each comes before those that need it. */
function withGiven(example: string): string {
  return Object.entries(GIVEN).reduce(
    (code, [name, declaration]) => (isUsed(name, code) && !isDeclared(name, code) ? declaration + code : code),
    example,
  );
}

/** Types are named as such, except where a value has the same name. */
function importsOf(code: string, exported: readonly Exported[]): string {
  const foreign = Object.entries(FOREIGN).filter(([name]) => isUsed(name, code));
  const used = exported.filter(({ name }) => isUsed(name, code) && !isDeclared(name, code));
  // Of what two doors export, the first door's; of a type and a value, the value.
  const chosen = new Map(used.toReversed().map((symbol) => [symbol.name, symbol]));
  const values = new Set(used.filter(({ isType }) => !isType).map(({ name }) => name));
  const doors = Map.groupBy(chosen.values(), ({ door }) => door);
  const own = Array.from(doors, ([door, symbols]) => {
    const names = symbols.map(({ name }) => (values.has(name) ? name : `type ${name}`));
    return `import { ${names.join(', ')} } from '${door}';\n`;
  });
  return [...foreign.map(([name, from]) => `import { ${name} } from '${from}';\n`), ...own].join('');
}

/** Whether code uses a name as a variable, and not as a field, an option or within quotes. */
function isUsed(name: string, code: string): boolean {
  return new RegExp(`(?<!['"\`\\w]|(?<!\\.\\.)\\.)${name}\\b(?!['"\`]|\\??:)`).test(code.replace(/\/\/.*$/gm, ''));
}

function isDeclared(name: string, code: string): boolean {
  return new RegExp(
    `\\b(?:const|let|var|function|class|type|interface) (?:${name}\\b|\\{[^}]*\\b${name}\\b[^}]*\\} =)|\\bimport .*\\b${name}\\b`,
  ).test(code);
}
