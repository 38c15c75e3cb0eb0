import { expect, test } from 'vitest';
import manifest from '../../../package.json' with { type: 'json' };
import { type Described, isCallable, MEMBERS, SYMBOLS, tagsOf, textOf } from './support/described.ts';

test('Every entry point has symbols', () => {
  const doors = new Set(SYMBOLS.map(({ door }) => door));
  const opened = Object.keys(manifest.exports).filter((door) => door !== './package.json');
  expect(doors).toEqual(new Set(opened.map((door) => `${manifest.name}${door.slice(1)}`)));
  expect(SYMBOLS.length).toBeGreaterThan(100);
});

test('Every symbol and every member has a description', () => {
  expect(namesWhere([...SYMBOLS, ...MEMBERS], (symbol) => textOf(symbol) === '')).toEqual([]);
});

test('Every symbol has an example, or names the symbol whose example shows it', () => {
  expect(namesWhere(SYMBOLS, (symbol) => !tagsOf(symbol).some(([tag]) => tag === '@example' || tag === '@see'))).toEqual([]);
  const named = SYMBOLS.flatMap((symbol) => tagsOf(symbol).flatMap(([tag, text]) => (tag === '@see' ? [text.split(' ')[0]] : [])));
  const shown = new Set(SYMBOLS.filter((symbol) => tagsOf(symbol).some(([tag]) => tag === '@example')).map(({ name }) => name));
  expect(named.filter((name) => !shown.has(name ?? ''))).toEqual([]);
});

test('Every class and every function has its own example', () => {
  const classesAndFunctions = SYMBOLS.filter(({ kind }) => kind === 'class' || kind === 'function');
  expect(namesWhere(classesAndFunctions, (symbol) => !tagsOf(symbol).some(([tag]) => tag === '@example'))).toEqual([]);
});

test('Every option that may be left out has a documented default', () => {
  const options = MEMBERS.filter(({ owner, isOptional }) => owner.endsWith('Options') && isOptional);
  expect(options.length).toBeGreaterThan(40);
  const saysWhat = (option: Described) => tagsOf(option).some(([tag]) => tag === '@default') || /Required here or as/.test(textOf(option));
  expect(namesWhere(options, (option) => !saysWhat(option))).toEqual([]);
});

/** What throws nothing, whatever it is given of its types. */
const SILENT = [
  /Error\.constructor$/,
  /\.(toJSON|toString)$/,
  // What implements them says it.
  /^(PetStoreApi|InventoryItems)\./,
  /^reply$/,
  /\.(close|clear|reset|report|revokeKey|has|list|remove|values|\[\w+\])$/,
  /^SandboxClock\./,
  /^Journal\.undoJournal$/,
  /^AnyDispatcher\./,
  /^CallRecording\./,
  /^Logger\./,
  /^is(?:PetS|Retryable$)/,
];

test('Every function and method says what it throws, or is known to throw nothing', () => {
  const callables = [...SYMBOLS, ...MEMBERS].filter(isCallable);
  expect(callables.length).toBeGreaterThan(50);
  const isSilent = (symbol: Described) => SILENT.some((name) => name.test(fullNameOf(symbol)));
  expect(namesWhere(callables, (symbol) => !isSilent(symbol) && !tagsOf(symbol).some(([tag]) => tag === '@throws'))).toEqual([]);
});

test('Every model names its section of the specification', () => {
  const models = SYMBOLS.filter((symbol) => tagsOf(symbol).some(([tag, text]) => tag === '@category' && text === 'Models'));
  expect(models.length).toBeGreaterThan(10);
  expect(namesWhere(models, (symbol) => !/specification, [A-Z]|specification, listInventory/.test(textOf(symbol)))).toEqual([]);
});

test('Every symbol of the main entry point is in one topic', () => {
  const main = SYMBOLS.filter(({ door }) => door === 'petstore-inventory');
  expect(namesWhere(main, (symbol) => tagsOf(symbol).filter(([tag]) => tag === '@category').length !== 1)).toEqual([]);
});

function namesWhere(symbols: readonly Described[], lacks: (symbol: Described) => boolean): string[] {
  return symbols.filter(lacks).map(fullNameOf);
}

function fullNameOf({ owner, name }: Described): string {
  return owner === '' ? name : `${owner}.${name}`;
}
