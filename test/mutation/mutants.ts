import ts from 'typescript';

/** One file with one small break, as a tired hand could make it. */
export interface Mutant {
  /** Below the project, such as `src/quota/gate/gate.ts`. */
  path: string;
  /** Counted from 1. */
  line: number;
  mutator: string;
  /** The code that is replaced, and what replaces it. */
  before: string;
  after: string;
  /** The whole file with the break. */
  source: string;
}

type Change = [mutator: string, start: number, end: number, after: string];

const OPERATORS: Record<string, string> = {
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '===': '!==',
  '!==': '===',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '+=': '-=',
  '-=': '+=',
  '&&': '||',
  '||': '&&',
};

/** A number below this is a count. */
const LEAST_SIZE = 10;

/** Draws up to `count` mutants of a file, the same ones for the same seed, and no line twice while others are left. */
export function drawMutants(path: string, source: string, { count, seed }: { count: number; seed: number }): Mutant[] {
  const all = shuffle(mutantsOf(path, source), randomOf(`${seed} ${path}`));
  const lines = new Set<number>();
  const firstOfLine = all.filter(({ line }) => !lines.has(line) && lines.add(line));
  const drawn = [...new Set([...firstOfLine, ...all])].slice(0, count);
  return drawn.sort((a, b) => a.line - b.line);
}

/** Every mutant of a file, in the order of the code. */
export function mutantsOf(path: string, source: string): Mutant[] {
  const tree = ts.createSourceFile(path, source, ts.ScriptTarget.Latest, true);
  return changesOf(tree, tree).map(([mutator, start, end, after]) => ({
    path,
    line: tree.getLineAndCharacterOfPosition(start).line + 1,
    mutator,
    before: source.slice(start, end),
    after,
    source: source.slice(0, start) + after + source.slice(end),
  }));
}

function changesOf(node: ts.Node, tree: ts.SourceFile): Change[] {
  if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node) || ts.isImportDeclaration(node)) return [];
  const inside: Change[] = [];
  ts.forEachChild(node, (child) => {
    inside.push(...changesOf(child, tree));
  });
  return [...changesOfExpression(node, tree), ...changesOfStatement(node, tree), ...inside];
}

function changesOfExpression(node: ts.Node, tree: ts.SourceFile): Change[] {
  const start = node.getStart(tree);
  if (ts.isBinaryExpression(node)) return changesOfBinary(node, tree);
  if (node.kind === ts.SyntaxKind.TrueKeyword) return [['literal', start, node.end, 'false']];
  if (node.kind === ts.SyntaxKind.FalseKeyword) return [['literal', start, node.end, 'true']];
  if (ts.isNumericLiteral(node)) {
    return othersThan(Number(node.text)).map((other) => ['number', start, node.end, other < 0 ? `(${other})` : String(other)]);
  }
  if (ts.isAwaitExpression(node)) return [['await', start, node.end, node.expression.getText(tree)]];
  if (ts.isConditionalExpression(node)) return [negate(node.condition, tree)];
  if (ts.isPrefixUnaryExpression(node) && node.operator === ts.SyntaxKind.ExclamationToken) {
    return [['negation', start, node.end, node.operand.getText(tree)]];
  }
  return [];
}

/** A count becomes one more or less. Longer times and larger sizes are doubled and halved: one millisecond more is no mistake. */
function othersThan(value: number): number[] {
  return value < LEAST_SIZE ? [value + 1, value - 1] : [value * 2, value / 2];
}

function changesOfBinary({ left, right, operatorToken, end }: ts.BinaryExpression, tree: ts.SourceFile): Change[] {
  const start = left.getStart(tree);
  if (operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken) return [['fallback', start, end, left.getText(tree)]];
  const after = OPERATORS[operatorToken.getText(tree)];
  const isText = [left, right].some((side) => ts.isStringLiteralLike(side) || ts.isTemplateExpression(side));
  if (after === undefined || (after === '-' && isText)) return [];
  const operator: Change = ['operator', operatorToken.getStart(tree), operatorToken.end, after];
  const isLogical = after === '||' || after === '&&';
  return isLogical ? [operator, ...[left, right].map((side): Change => ['operand', start, end, side.getText(tree)])] : [operator];
}

function changesOfStatement(node: ts.Node, tree: ts.SourceFile): Change[] {
  const start = node.getStart(tree);
  if (ts.isIfStatement(node)) return [negate(node.expression, tree)];
  if (ts.isExpressionStatement(node) && (isCall(node.expression) || isAssignment(node.expression)))
    return [['statement', start, node.end, ';']];
  if (ts.isBlock(node) && ts.isFunctionLike(node.parent)) {
    const last = node.statements.at(-1);
    const isEnd = !last || ts.isReturnStatement(last) || ts.isThrowStatement(last) || last.getText(tree).startsWith('super(');
    if (!isEnd) return [['return', last.getStart(tree), last.end, 'return;']];
  }
  return [];
}

/** A call, awaited or not; a class cannot do without its `super()`. */
function isCall(node: ts.Expression): boolean {
  if (ts.isAwaitExpression(node)) return isCall(node.expression);
  return ts.isCallExpression(node) && node.expression.kind !== ts.SyntaxKind.SuperKeyword;
}

function isAssignment(node: ts.Expression): boolean {
  if (!ts.isBinaryExpression(node)) return false;
  const { kind } = node.operatorToken;
  return kind >= ts.SyntaxKind.FirstAssignment && kind <= ts.SyntaxKind.LastAssignment;
}

function negate(condition: ts.Expression, tree: ts.SourceFile): Change {
  return ['condition', condition.getStart(tree), condition.end, `!(${condition.getText(tree)})`];
}

function shuffle<T>(items: T[], random: () => number): T[] {
  return items
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}

/** Numbers from 0 to 1 that a text decides: an FNV-1a hash as the state of mulberry32. */
function randomOf(text: string): () => number {
  let state = [...text].reduce((hash, char) => Math.imul(hash ^ (char.codePointAt(0) ?? 0), 16_777_619), 2_166_136_261);
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    const mixed = Math.imul(state ^ (state >>> 15), state | 1);
    const again = mixed ^ (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61));
    return ((again ^ (again >>> 14)) >>> 0) / 2 ** 32;
  };
}
