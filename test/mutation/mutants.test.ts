import { describe, expect, test } from 'vitest';
import { drawMutants, mutantsOf } from './mutants.ts';

/** The changes of a piece of code, as `before => after`. */
function changesOf(source: string): string[] {
  return mutantsOf('src/a.ts', source).map(({ before, after }) => `${before} => ${after}`);
}

describe('mutantsOf', () => {
  test.each([
    ['a < b;', ['< => <=']],
    ['a === b && c;', ['&& => ||', 'a === b && c => a === b', 'a === b && c => c', '=== => !==']],
    ['a + 1;', ['+ => -', '1 => 2', '1 => 0']],
    ['a + 9;', ['+ => -', '9 => 10', '9 => 8']],
    ['const A_MS = 60_000;', ['60_000 => 120000', '60_000 => 30000']],
    ['a + "text";', []],
    ['a ?? b;', ['a ?? b => a']],
    ['a = true;', ['a = true; => ;', 'true => false']],
    ['if (!a) b = c;', ['!a => !(!a)', '!a => a', 'b = c; => ;']],
    ['a ||= b;', ['a ||= b; => ;']],
    ['const b = a ? c : d;', ['a => !(a)']],
    ['const b = await a();', ['await a() => a()']],
    ['a();', ['a(); => ;']],
    ['function a() { b = c; }', ['b = c; => return;', 'b = c; => ;']],
    ['function a() { return b; }', []],
    ['class A extends B { constructor() { super(); } }', []],
    ['type A = 1 | true; interface B { c: 2 } import d from "e";', []],
  ])('breaks %j', (source, changes) => {
    expect(changesOf(source)).toEqual(changes);
  });

  test('gives the whole file with the break in its place', () => {
    expect(mutantsOf('src/a.ts', 'a();\nif (b > 0) c = d;\n')[2]).toEqual({
      path: 'src/a.ts',
      line: 2,
      mutator: 'operator',
      before: '>',
      after: '>=',
      source: 'a();\nif (b >= 0) c = d;\n',
    });
  });
});

describe('drawMutants', () => {
  const source = Array.from({ length: 40 }, (_, index) => `a${index} = b < c && d;`).join('\n');
  const placesOf = (seed: number) => drawMutants('src/a.ts', source, { count: 10, seed }).map(({ line, before }) => `${line} ${before}`);

  test('draws the same for the same seed, and others for another', () => {
    expect(placesOf(1)).toEqual(placesOf(1));
    expect(placesOf(1)).not.toEqual(placesOf(2));
  });

  test('draws from as many lines as possible', () => {
    expect(new Set(placesOf(1).map((place) => place.split(' ')[0])).size).toBe(10);
    expect(drawMutants('src/a.ts', 'a < b && c;', { count: 10, seed: 1 })).toHaveLength(4);
  });
});
