import { describe, expect, test } from 'vitest';
import { IntColumn } from '../../src/stock/int-column.ts';

const WIDE = [0, 255, 256, -1, 2 ** 31 - 1, -(2 ** 31), 2 ** 31, Number.MAX_SAFE_INTEGER, Number.MIN_SAFE_INTEGER];

function columnOf(values: readonly number[]): IntColumn {
  const column = new IntColumn();
  for (const [row, value] of values.entries()) column.set(row, value);
  return column;
}

const read = (column: IntColumn, rows: number) => Array.from({ length: rows }, (_, row) => column.get(row));

describe('IntColumn', () => {
  test('holds every safe integer, whatever came before it', () => {
    expect(read(columnOf(WIDE), WIDE.length)).toEqual(WIDE);
    expect(read(columnOf(WIDE.toReversed()), WIDE.length)).toEqual(WIDE.toReversed());
  });

  test('keeps its rows beyond the first part, even if one of them needs more bytes', () => {
    const values = Array.from({ length: 70_000 }, (_, row) => row % 200);
    const column = columnOf(values);
    column.set(65_540, 2 ** 40);
    expect([column.get(65_535), column.get(65_536), column.get(65_540), column.get(69_999)]).toEqual([135, 136, 2 ** 40, 199]);
  });

  test('fork() gives a copy, and writing to it does not change the original', () => {
    const values = Array.from({ length: 70_000 }, (_, row) => row % 200);
    const column = columnOf(values);
    const fork = column.fork();
    fork.set(3, 1_000);
    fork.set(3, 1_001);
    fork.set(69_999, 7);
    fork.set(70_000, 8);
    expect([column.get(3), column.get(69_999), column.get(70_000)]).toEqual([3, 199, 0]);
    expect([fork.get(2), fork.get(3), fork.get(69_999), fork.get(70_000)]).toEqual([2, 1_001, 7, 8]);
  });

  test('first() copies rows', () => {
    const column = columnOf([1, 2, 300]);
    const copy = column.first(2);
    column.set(0, 9);
    copy.set(2, 5);
    expect(read(copy, 3)).toEqual([1, 2, 5]);
    expect(read(column, 3)).toEqual([9, 2, 300]);
  });
});
