import { execFileSync } from 'node:child_process';
import { expect, onTestFinished, test, vi } from 'vitest';
import { shellWord } from '../../src/cli/shell-word.ts';

test('shellWord leaves a plain path as it is', () => {
  expect(shellWord('/srv/shop/restock-2026-11-21.journal')).toBe('/srv/shop/restock-2026-11-21.journal');
});

test.each(['my journals/j', "it's", '$HOME', 'a;b', '"', '`id`', 'Bücher', ''])('shellWord makes %j one word of a shell', (path) => {
  expect(execFileSync('sh', ['-c', `printf %s ${shellWord(path)}`], { encoding: 'utf8' })).toBe(path);
});

test('shellWord uses the quotes of Windows there', () => {
  const platform = vi.spyOn(process, 'platform', 'get').mockReturnValue('win32');
  onTestFinished(() => platform.mockRestore());
  expect(shellWord('C:\\my journals\\j')).toBe('"C:\\my journals\\j"');
});
