import { ConfigurationError, InvalidArgumentError } from 'petstore-inventory';
import { describe, expect, test } from 'vitest';
import { exitCodeOf } from '../../src/cli/exit-code.ts';
import { cannotRead } from '../../src/cli/input/open-input.ts';
import { cannotOpen } from '../../src/cli/usage-error.ts';
import { SandboxError } from '../../src/sandbox/index.ts';
import { JournalError } from '../../src/sync/index.ts';

describe('exitCodeOf', () => {
  test.each(['ENOSPC', 'EDQUOT', 'EIO', 'EROFS', 'EFBIG', 'EMFILE', 'ENFILE', 'journal_busy'])(
    'treats a journal that fails with %s as a failure',
    (code) => {
      expect(exitCodeOf(new JournalError('no', { code }))).toBe(1);
    },
  );

  test.each(['EACCES', 'ENOENT', 'journal_unreadable', 'journal_removed'])(
    'treats a journal that fails with %s as a usage error',
    (code) => {
      expect(exitCodeOf(new JournalError('no', { code }))).toBe(2);
    },
  );

  test.each([
    [new ConfigurationError('no', { option: 'apiKey' }), 3],
    [new ConfigurationError('no', { option: 'apiKey', cause: { code: 'EACCES' } }), 3],
    [new ConfigurationError('no', { option: 'apiKey', cause: { code: 'EMFILE' } }), 1],
    [new ConfigurationError('no', { option: 'plan' }), 2],
    [new InvalidArgumentError('no', { argument: 'petId' }), 2],
    [new Error('no'), 1],
    [new ConfigurationError('full', { option: 'quotaStore', cause: { code: 'ERR_SQLITE_ERROR', errcode: 13 } }), 1],
    [new ConfigurationError('a failed read', { option: 'quotaStore', cause: { code: 'ERR_SQLITE_ERROR', errcode: 266 } }), 1],
    [new ConfigurationError('a read-only disk', { option: 'quotaStore', cause: { code: 'ERR_SQLITE_ERROR', errcode: 8 } }), 1],
    [new ConfigurationError('a wrong path', { option: 'quotaStore', cause: { code: 'ERR_SQLITE_ERROR', errcode: 14 } }), 2],
    [new ConfigurationError('no database', { option: 'quotaStore', cause: { code: 'ERR_SQLITE_ERROR', errcode: 26 } }), 2],
    [new SandboxError('the port is in use', { cause: { code: 'EADDRINUSE' } }), 1],
    [new SandboxError('no database', { cause: { code: 'ERR_SQLITE_ERROR', errcode: 26 } }), 2],
    [new SandboxError('of another program'), 2],
    [cannotRead('in.csv', { code: 'EMFILE' }), 1],
    [cannotRead('in.csv', { code: 'EACCES' }), 2],
    [cannotOpen('--report', { path: 'a.txt', error: { code: 'EROFS' } }), 1],
    [cannotOpen('--report', { path: 'a.txt', error: { code: 'EACCES' } }), 2],
  ])('makes of %o %i', (error, code) => {
    expect(exitCodeOf(error)).toBe(code);
  });
});
