import { expect, test } from 'vitest';
import { HeadRoom } from '../../../src/quota/ledger/head-room.ts';

/** How many good answers it takes until no request is left to others any more. */
function answersUntilGone(refusals: number, isRefilled: boolean, limit = 1000): number {
  const headRoom = new HeadRoom();
  for (let refused = 0; refused < refusals; refused++) headRoom.widen(limit);
  let answers = 0;
  for (; headRoom.within(1000) > 0; answers++) headRoom.narrow(isRefilled);
  return answers;
}

test('HeadRoom leaves one request to others for each refusal, for 20 good answers, or 140 if slots come back one by one', () => {
  expect([answersUntilGone(1, false), answersUntilGone(3, false), answersUntilGone(1, true)]).toEqual([20, 60, 140]);
});

test('HeadRoom leaves at most a quarter of the limit to others', () => {
  const headRoom = new HeadRoom();
  for (let refused = 0; refused < 100; refused++) headRoom.widen(60);
  expect(headRoom.within(60)).toBe(15);
});

test('HeadRoom counts no more refusals than a quarter of the limit', () => {
  expect(answersUntilGone(100, false, 60)).toBe(15 * 20);
});

test('HeadRoom leaves at most a quarter of a limit that has become smaller', () => {
  const headRoom = new HeadRoom();
  for (let refused = 0; refused < 100; refused++) headRoom.widen(1000);
  expect(headRoom.within(60)).toBe(15);
});
