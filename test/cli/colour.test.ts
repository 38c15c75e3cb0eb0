import { expect, test } from 'vitest';
import { paintFor } from '../../src/cli/colour.ts';
import { tableRow } from '../../src/cli/commands/list.ts';
import { FakeTerminal } from './support/fake-terminal.ts';

const terminal = new FakeTerminal({ isTTY: true });
const paint = paintFor(terminal.stdout, terminal);

test.each([
  ['red', 31],
  ['green', 32],
  ['yellow', 33],
  ['dim', 2],
  ['bold', 1],
] as const)('paintFor makes text %s by %i', (colour, code) => {
  expect(paint(colour, 'text')).toBe(`\u001b[${code}mtext\u001b[0m`);
});

test.each([
  [false, { FORCE_COLOR: '1' }, true],
  [false, { FORCE_COLOR: 'true', TERM: 'dumb' }, true],
  [false, { FORCE_COLOR: '3', NO_COLOR: '1' }, true],
  [true, { FORCE_COLOR: '0' }, false],
  [true, { FORCE_COLOR: 'false' }, false],
  [true, { FORCE_COLOR: '' }, true],
  [true, { FORCE_COLOR: '', NO_COLOR: '1' }, false],
  [false, { FORCE_COLOR: '' }, false],
])('with isTTY %s and the environment %o, text has colour: %s', (isTTY, env, isPainted) => {
  const terminal = new FakeTerminal({ isTTY, env });
  expect(paintFor(terminal.stdout, terminal)('red', 'text') !== 'text').toBe(isPainted);
});

test.each([
  ['available', '\u001b[32mavailable\u001b[0m'],
  ['pending', '\u001b[33mpending\u001b[0m'],
  ['sold', '\u001b[2msold\u001b[0m'],
  ['lost', 'lost'],
  ['\u001b[2Jsold', '�[2Jsold'],
  ['\u202esold', '�sold'],
])('tableRow shows the status %j as %j', (status, shown) => {
  expect(tableRow({ petId: 1n, quantity: 2, status }, paint)).toBe(`         1           2  ${shown}\n`);
});
