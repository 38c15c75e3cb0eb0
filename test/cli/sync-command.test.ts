import { execFileSync } from 'node:child_process';
import { closeSync, constants, openSync, readFileSync, rmSync } from 'node:fs';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { runCli } from '../../src/cli/run-cli.ts';
import { serveSandbox } from '../../src/node/serve.ts';
import { ownWorkMs } from '../support/own-work.ts';
import { FakeTerminal } from './support/fake-terminal.ts';
import { type JobFolder, jobFolder } from './support/job-folder.ts';

let served: JobFolder['served'];
let file: JobFolder['file'];
let run: JobFolder['run'];

beforeEach(async () => {
  ({ served, file, run } = await jobFolder({ plans: { business: { requestsPerMinute: 1_000, requestsPerDay: 1_000 } } }));
});

async function sync(text: string | Uint8Array, words: string[] = [], terminal = new FakeTerminal()) {
  await writeFile(file('in'), text);
  return run(['sync', file('in'), ...words], terminal);
}

const requests = (): string[] =>
  served.sandbox.requests.map(({ method, path, quantity }) => `${method} ${path}${quantity === undefined ? '' : ` ${quantity}`}`);

describe('petstore sync', () => {
  test.each([
    ['CSV', 'petId,quantity,adjust\n1,9,\n2,,-2\n3,5,\n'],
    [
      'CSV with a BOM, semicolons, quotes, blank lines and CRLF',
      '\ufeffAdjust;name;QUANTITY;"petId"\r\n;"a ""b""";9;1\r\n\r\n-2;;;2\r\n;;5;"3"',
    ],
    ['CSV put together from parts with different line breaks', 'petId,quantity,adjust\r\n1,9,\n2,,-2\r3,5,\r\n\r'],
    ['CSV whose first line tells Excel the separator', '\ufeffsep=;\r\npetId;quantity;adjust\r\n1;9;\r\n2;;-2\r\n3;5;\r\n'],
    ['JSON', ' [ {"petId":1,"quantity":9}, {"petId":"2","adjust":-2,"name":"a,]}\\"["},\n{"petId":3,"quantity":5,"adjust":null}]\n'],
    ['NDJSON', '{"petId":1,"quantity":9}\n\n{"petId":2,"adjust":-2}\r\n{"petId":3,"quantity":"5"}'],
  ])('takes %s', async (_name, text) => {
    expect(await sync(text)).toEqual({ code: 0, out: '2 updated, 1 unchanged, 0 missing, 0 failed, 0 pending\n', err: '' });
    expect(requests().toSorted()).toEqual(['GET /inventory', 'PATCH /inventory/1 9', 'PATCH /inventory/2 3']);
  });

  test('reads stdin, however it is split into chunks', async () => {
    const terminal = new FakeTerminal({ stdin: 'petId,adjust,name\r\n1,+1,Żółw\r\n' });
    expect(await runCli(['sync', '-', '--json'], terminal)).toBe(0);
    expect(JSON.parse(terminal.out)).toEqual({ updated: 1, unchanged: 0, missing: [], failed: [], pending: [] });
    expect(served.sandbox.inventory.get(1)?.quantity).toBe(6);
  });

  test.each([
    ['CSV', 'petId,quantity\n9007199254740993,1\n'],
    ['JSON', '[{"petId":9007199254740993,"quantity":1}]'],
    ['NDJSON', '{"petId": 9007199254740993, "quantity":1}\n'],
  ])('keeps a long id of %s exact', async (_name, text) => {
    served.sandbox.inventory.set(9007199254740993n, { quantity: 0 });
    expect((await sync(text)).code).toBe(0);
    expect(requests()).toEqual(['GET /inventory', 'PATCH /inventory/9007199254740993 1']);
  });

  test('names what is missing and what failed, and ends with 4', async () => {
    served.sandbox.faults.add({ status: 400, when: ({ path }) => path === '/inventory/2' });
    const { code, out } = await sync('petId,quantity\n1,9\n2,9\n99,1\n');
    expect(code).toBe(4);
    expect(out).toMatch(
      /^1 updated, 0 unchanged, 1 missing, 1 failed, 0 pending\nmissing: 99\nfailed: pet 2 \(quantity 9\): Cannot update pet 2: .*\n$/,
    );
  });

  test('writes failures as JSON', async () => {
    served.sandbox.faults.add({ status: 400, when: ({ path }) => path === '/inventory/2' });
    expect(JSON.parse((await sync('petId,quantity\n2,9\n', ['--json'])).out)).toMatchObject({
      failed: [{ petId: 2, quantity: 9, error: { kind: 'bad-request', status: 400 } }],
    });
  });

  test('names twenty missing pets, and counts the rest', async () => {
    const rows = Array.from({ length: 25 }, (_, index) => `${index + 100},1`).join('\n');
    expect((await sync(`petId,quantity\n${rows}`, ['--allow-missing'])).out).toContain('118, 119 and 5 more (--json names all)\n');
  });

  test.each([
    ['a header without rows', 'petId,quantity\n'],
    ['an empty file', ''],
    ['a blank file', ' \n\n'],
    ['an empty JSON array', '[ ]'],
  ])('refuses %s, and does nothing for it with --allow-empty', async (_name, text) => {
    const err = 'petstore: Cannot use in: it has no rows; allow that with --allow-empty\n';
    expect(await sync(text)).toEqual({ code: 2, out: '', err });
    expect(await sync(text, ['--allow-empty'])).toMatchObject({ code: 0, err: '' });
    expect(requests()).toEqual([]);
  });
});

describe('--dry-run', () => {
  test.each([
    ['low', true],
    ['normal', false],
  ])('of a job of %s priority: a share of low priority makes it wait: %s', async (priority, waits) => {
    const { out } = await sync('petId,quantity\n1,9\n', ['--dry-run', '--json', '--share', 'low:0.001', '--priority', priority]);
    expect(JSON.parse(out).estimatedMs > 0).toBe(waits);
  });

  test('prints a diff and the cost, and sends one list', async () => {
    const { code, out } = await sync('petId,quantity,adjust\n1,9,\n2,,-2\n3,5,\n99,1,\n', ['--dry-run']);
    expect(out.replace(/\+\+\+ .*in/, '+++ in')).toBe(
      [
        '--- the stock now',
        '+++ in',
        '- 1  5',
        '+ 1  9',
        '- 2  5',
        '+ 2  3  (-2)',
        "? 99  missing in the service's list",
        "2 changes, 1 unchanged, 1 missing: 3 requests, no waiting for quota; today's quota is unknown",
        '',
      ].join('\n'),
    );
    expect(code).toBe(0);
    expect(requests()).toEqual(['GET /inventory']);
  });

  test('writes JSON', async () => {
    expect(JSON.parse((await sync('petId,adjust\n1,+4\n', ['--dry-run', '--json'])).out)).toEqual({
      changes: [{ petId: 1, from: 5, to: 9, adjust: 4 }],
      unchanged: 0,
      missing: [],
      failed: [],
      requests: 2,
      estimatedMs: 0,
      fitsToday: 'unknown',
    });
  });

  test('creates no journal', async () => {
    expect((await sync('petId,adjust\n1,+4\n', ['--dry-run', '--journal', file('j')])).code).toBe(0);
    await expect(readFile(file('j'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('leaves out what the journal says is done', async () => {
    await sync('petId,adjust\n1,+4\n', ['--journal', file('j')]);
    expect((await sync('petId,adjust\n1,+4\n', ['--journal', file('j'), '--dry-run'])).out).toContain('1 updated, 0 unchanged');
  });

  test('counts no request for a job that is finished, or for an empty file', async () => {
    const words = ['--journal', file('j'), '--dry-run'];
    await sync('petId,adjust\n1,+4\n', ['--journal', file('j')]);
    expect((await sync('petId,adjust\n1,+4\n', words)).out).toContain('\n1 updated, 0 unchanged, 0 missing: 0 requests, ');
    expect(JSON.parse((await sync('petId,adjust\n1,+4\n', [...words, '--json'])).out)).toMatchObject({ changes: [], requests: 0 });
    expect((await sync('', ['--dry-run', '--allow-empty'])).out).toContain('\n0 changes, 0 unchanged, 0 missing: 0 requests, ');
  });

  test('ends with 3 for a bad key', async () => {
    vi.stubEnv('PETSTORE_API_KEY', 'wrong');
    expect(await sync('petId,adjust\n1,+4\n', ['--dry-run'])).toMatchObject({ code: 3, out: '' });
  });
});

describe('a file in which most pets are missing', () => {
  const TWO_OF_THREE = 'petId,quantity\n1,9\n98,1\n99,1\n';
  const err =
    "petstore: Cannot use in: 2 of its 3 pets are missing in the service's list of 4; check the file and the address, or allow it with --allow-missing\n";

  test('is refused before the first update', async () => {
    expect(await sync(TWO_OF_THREE)).toEqual({ code: 2, out: '', err });
    expect(requests()).toEqual(['GET /inventory']);
  });

  test('is shown by a dry run, which refuses it too', async () => {
    const { code, out, err: told } = await sync(TWO_OF_THREE, ['--dry-run']);
    expect({ code, told }).toEqual({ code: 2, told: err });
    expect(out).toContain('1 change, 0 unchanged, 2 missing');
  });

  test('is taken with --allow-missing', async () => {
    expect(await sync(TWO_OF_THREE, ['--allow-missing'])).toMatchObject({ code: 4, err: '' });
  });
});

describe('--max-changes', () => {
  const THREE = 'petId,quantity\n1,9\n2,9\n3,9\n';

  test.each([
    ['2', '2'],
    ['50%', '50% of them (2)'],
  ])('%s refuses three changes of four pets before the first update', async (most, shown) => {
    const { code, err } = await sync(THREE, ['--max-changes', most]);
    expect(code).toBe(2);
    expect(err).toBe(`petstore: Cannot start: 3 of the 4 pets in the list would change, and --max-changes allows at most ${shown}\n`);
    expect(requests()).toEqual(['GET /inventory']);
  });

  test('is reported by a dry run, after the plan', async () => {
    const { code, out, err } = await sync(THREE, ['--max-changes', '2', '--dry-run']);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('allows at most 2') });
    expect(out).toContain('3 changes');
  });

  test.each([[[]], [['--json']]])('refuses a dry run whose output is no longer read, in its report too: %j', async (words) => {
    const terminal = new FakeTerminal({ stdoutError: 'EPIPE' });
    const { code, err } = await sync(THREE, ['--max-changes', '2', '--dry-run', '--report', file('r.json'), ...words], terminal);
    expect({ code, err }).toEqual({ code: 2, err: expect.stringContaining('Cannot start: 3 of the 4 pets') });
    expect(JSON.parse(await readFile(file('r.json'), 'utf8'))).toMatchObject({ exitCode: 2 });
  });

  test.each(['3', '75%', '100%'])('%s lets them through', async (most) => {
    expect((await sync(THREE, ['--max-changes', most])).code).toBe(0);
  });

  test.each(['-1', '1.5', '101%', 'some'])('%s is refused', async (most) => {
    const { code, err } = await sync(THREE, ['--max-changes', most]);
    expect({ code, err }).toMatchObject({ code: 2, err: expect.stringContaining(`Cannot use --max-changes ${most}: it must be`) });
    expect(requests()).toEqual([]);
  });
});

describe('bad rows', () => {
  const BAD = 'petId,quantity\n1,9\ntwo,9\n2,9,9\n3,"1,000"\n4,9\n';
  const REJECTS = [
    'row,reason,text',
    '3,"petId must be an integer, not ""two""","two,9"',
    '4,it has 3 fields where the header has 2,"2,9,9"',
  ];

  test('are skipped with --max-bad-rows, which names the first, and make the job partly done', async () => {
    expect(await sync(BAD, ['--max-bad-rows', '3'])).toEqual({
      code: 4,
      out: '2 updated, 0 unchanged, 0 missing, 0 failed, 0 pending, 3 bad rows skipped\n',
      err: 'petstore: in: 3 of 5 rows are bad; the first is row 3: petId must be an integer, not "two"; --rejects writes all to a file\n',
    });
    expect(requests().toSorted()).toEqual(['GET /inventory', 'PATCH /inventory/1 9', 'PATCH /inventory/4 9']);
  });

  test('are counted with --json', async () => {
    expect(JSON.parse((await sync(BAD, ['--max-bad-rows', '3', '--json'])).out)).toMatchObject({ updated: 2, rejected: 3 });
  });

  test.each(['\n', '\r\n', '\r'])('are named by the line in which they end, after a line break %j within quotes', async (end) => {
    const { err } = await sync(['petId,quantity,name', '1,9,"Rex', 'of York"', 'two,9,'].join(end));
    expect(err).toBe('petstore: Cannot use in, row 4: petId must be an integer, not "two"\n');
  });

  test('are refused if there are more than --max-bad-rows, and nothing is sent', async () => {
    const { code, err } = await sync(BAD, ['--max-bad-rows', '2']);
    expect({ code, err }).toEqual({
      code: 2,
      err: 'petstore: Cannot use in: more than 2 rows are bad; the first is row 3: petId must be an integer, not "two"\n',
    });
    expect(requests()).toEqual([]);
    expect((await sync(BAD, ['--max-bad-rows', '1'])).err).toContain('more than 1 row is bad; the first is row 3: ');
  });

  test.each([
    [[], '3 bad rows skipped: '],
    [['--json'], '"rejected":3,'],
  ])('are counted in a dry run %j', async (words, shown) => {
    const { code, out } = await sync(BAD, ['--max-bad-rows', '5', '--dry-run', ...words]);
    expect({ code, out }).toEqual({ code: 4, out: expect.stringContaining(shown) });
  });

  test('are all written with --rejects, in one pass, with their reasons', async () => {
    const { code, err } = await sync(BAD, ['--rejects', file('r.csv')]);
    expect({ code, err }).toEqual({
      code: 2,
      err: 'petstore: Cannot use in: 3 of 5 rows are bad, and --max-bad-rows allows 0; the first is row 3: petId must be an integer, not "two"; r.csv names all\n',
    });
    expect((await readFile(file('r.csv'), 'utf8')).split('\n')).toEqual([
      ...REJECTS,
      '5,"quantity must be an integer, not ""1,000"": write it without a thousands separator, or without decimals","3,""1,000"""',
      '',
    ]);
    expect(requests()).toEqual([]);
  });

  test.skipIf(process.platform !== 'linux')(
    'that cannot be written to --rejects end the command with 1 before anything is sent, and name the file',
    async () => {
      const { code, err } = await sync(BAD, ['--rejects', '/dev/full']);
      expect(code).toBe(1);
      expect(err).toMatch(/^petstore: Cannot write --rejects \/dev\/full: ENOSPC: no space left on device.*\n$/);
      expect(requests()).toEqual([]);
    },
  );

  test.skipIf(process.platform === 'win32')('refuse a pipe that nobody reads as --rejects, which could not be ended', async () => {
    execFileSync('mkfifo', [file('r.csv')]);
    const { code, err } = await sync(BAD, ['--rejects', file('r.csv')]);
    expect({ code, err }).toEqual({ code: 2, err: 'petstore: Cannot use --rejects r.csv: it is a pipe that nothing reads\n' });
    expect(requests()).toEqual([]);
  });

  test.skipIf(process.platform === 'win32')('are written to a pipe as --rejects', async () => {
    execFileSync('mkfifo', [file('r.csv')]);
    const reader = openSync(file('r.csv'), constants.O_RDONLY | constants.O_NONBLOCK);
    onTestFinished(() => closeSync(reader));
    expect((await sync(BAD, ['--rejects', file('r.csv')])).code).toBe(2);
    expect(readFileSync(reader, 'utf8').split('\n')).toEqual(expect.arrayContaining(REJECTS));
  });

  test('make no file of --rejects if the input cannot be read', async () => {
    await run(['sync', file('mistyped.csv'), '--rejects', file('r.csv')]);
    await expect(readFile(file('r.csv'))).rejects.toMatchObject({ code: 'ENOENT' });
  });

  test('are counted in a message in the singular if there is one', async () => {
    const { err } = await sync('petId,quantity\n1,9\nx,1\n', ['--rejects', file('r.csv')]);
    expect(err).toContain('1 of 2 rows is bad, and --max-bad-rows allows 0; the first is row 3: ');
  });

  test('of an earlier run stay in --rejects if the input cannot be read, and are replaced once it can', async () => {
    await writeFile(file('r.csv'), 'held');
    expect((await run(['sync', file('mistyped.csv'), '--rejects', file('r.csv')])).code).toBe(2);
    expect(await readFile(file('r.csv'), 'utf8')).toBe('held');
    expect((await sync('petId,quantity\n1,9\n', ['--rejects', file('r.csv')])).code).toBe(0);
    expect(await readFile(file('r.csv'), 'utf8')).toBe('row,reason,text\n');
  });

  test('of JSON and NDJSON are written unchanged', async () => {
    await sync('[{"petId":1,"quantity":9}, {"petId":}, 5]', ['--rejects', file('r.csv')]);
    expect(await readFile(file('r.csv'), 'utf8')).toBe(
      'row,reason,text\n2,it is not valid JSON,"{""petId"":}"\n3,it must be an object with petId and quantity or adjust,5\n',
    );
    await sync('{"petId":1,"quantity":9}\n{"petId":2}', ['--rejects', file('r.csv')]);
    expect(await readFile(file('r.csv'), 'utf8')).toBe('row,reason,text\n2,it has neither a quantity nor an adjust,"{""petId"":2}"\n');
  });

  test.each([
    ['--max-bad-rows', 'x', 'Cannot use --max-bad-rows x: it must be a whole number from 0 to 999999999'],
    ['--rejects', '/no/such/folder/r.csv', 'Cannot use --rejects /no/such/folder/r.csv: its folder /no/such/folder does not exist'],
  ])('with %s %s are refused before anything is sent', async (option, value, reason) => {
    expect(await sync(BAD, [option, value])).toMatchObject({ code: 2, err: expect.stringContaining(reason) });
    expect(requests()).toEqual([]);
  });

  test.each([
    ['2,5', 'it has decimals'],
    ['2.0', 'it has decimals'],
    ['1.000', 'write it without a thousands separator, or without decimals'],
    ['1.000.000', 'write it without thousands separators'],
    ["1'000", 'write it without thousands separators'],
    ['1\u2009000', 'write it without thousands separators'],
    ['−5', 'write the minus as "-", not as U+2212'],
    ['–5', 'write the minus as "-", not as U+2013'],
    ['-５', 'write it in 0 to 9, + and -, not with U+FF15'],
    ['＋5', 'write it in 0 to 9, + and -, not with U+FF0B'],
    ['٥', 'write it in 0 to 9, + and -, not with U+0665'],
    ['5\u00a05', 'remove the space or invisible character U+00A0'],
    ['5\u200b', 'remove the space or invisible character U+200B'],
    ['1 000', 'write it without thousands separators'],
    ['1e+05', 'write all of its digits; spreadsheets show long numbers in this form'],
  ])('with a quantity such as %s say why', async (quantity, why) => {
    expect((await sync(`petId;quantity\n1;${quantity}\n`)).err).toBe(
      `petstore: Cannot use in, row 2: quantity must be an integer, not "${quantity}": ${why}\n`,
    );
  });
});

describe('a pet with several rows', () => {
  const TWICE = 'petId,adjust\n1,1\n2,1\n1,2\n1,3\n';

  test('is reported with its rows, and its adjustments add up', async () => {
    const { code, err } = await sync(TWICE);
    expect({ code, err }).toEqual({
      code: 0,
      err: 'petstore: in: 1 pet has several rows: pet 1 (rows 2, 4, 5); a quantity replaces the rows before it, adjustments add up; --unique refuses such rows\n',
    });
    expect(served.sandbox.inventory.get(1)?.quantity).toBe(11);
  });

  test('is refused with --unique', async () => {
    expect(await sync(TWICE, ['--unique'])).toEqual({
      code: 2,
      out: '',
      err: 'petstore: Cannot use in: 1 pet has several rows: pet 1 (rows 2, 4, 5)\n',
    });
    expect(requests()).toEqual([]);
  });

  test('is named if it is one of the first five; the others are counted', async () => {
    const rows = [1, 2, 3, 4, 5, 6, 7].flatMap((petId) => [petId, petId]);
    const { err } = await sync(`petId,adjust\n${rows.map((petId) => `${petId},0`).join('\n')}`, ['--unique']);
    expect(err).toMatch(/7 pets have several rows: pet 1 \(rows 2, 3\), .*, pet 5 \(rows 10, 11\) and 2 more\n$/);
  });
});

describe('the separator', () => {
  test.each([
    ['a semicolon beside names with commas', 'petId;name;quantity\n1;Rex, the dog;9\n'],
    ['a tab beside decimals', 'petId\tprice\tquantity\n1\t2,50\t9\n'],
    ['a bar', 'petId|quantity\n1|9\n'],
    ['a comma beside a quoted name of semicolons', 'petId,"a;b;c;d",quantity\n1,x;y,9\n'],
  ])('is taken from the header: %s', async (_name, text) => {
    expect(await sync(text)).toMatchObject({ code: 0, err: '' });
    expect(served.sandbox.inventory.get(1)?.quantity).toBe(9);
  });
});

describe('a stock below zero', () => {
  test('is refused before anything is sent', async () => {
    const { code, err } = await sync('petId,adjust\n1,2\n2,-6\n');
    expect(code).toBe(2);
    expect(err).toBe(
      'petstore: Cannot use in: the adjustment -6 would take pet 2 from 5 to -1; correct it, or allow it with --allow-negative\n',
    );
    expect(requests()).toEqual(['GET /inventory']);
  });

  test('is refused as a quantity too', async () => {
    const { code, err } = await sync('petId,quantity\n1,9\n2,-6\n');
    expect(code).toBe(2);
    expect(err).toBe('petstore: Cannot use in: it would take pet 2 from 5 to -6; correct it, or allow it with --allow-negative\n');
    expect(requests()).toEqual(['GET /inventory']);
  });

  test('is sent with --allow-negative', async () => {
    expect((await sync('petId,adjust\n2,-6\n', ['--allow-negative'])).code).toBe(0);
    expect(served.sandbox.inventory.get(2)?.quantity).toBe(-1);
  });
});

describe('--journal', () => {
  test('makes a job that is done only once', async () => {
    const first = await sync('petId,adjust\n1,1\n', ['--journal', file('j')]);
    const again = await sync('petId,adjust\n1,1\n', ['--journal', file('j')]);
    expect(again).toMatchObject({ code: 0, out: first.out });
    expect(again.err).toMatch(/^petstore: nothing sent: this job was finished at 20.*Z; a new job needs a new --journal\n$/);
    expect(served.sandbox.inventory.get(1)?.quantity).toBe(6);
  });

  test('refuses another input, keeps what the journal held, and sends nothing', async () => {
    await sync('petId,adjust\n1,1\n', ['--journal', file('j')]);
    const held = await readFile(file('j'), 'utf8');
    served.sandbox.clear();
    const { code, err } = await sync('petId,adjust\n1,2\n', ['--journal', file('j')]);
    expect(code).toBe(2);
    expect(err).toBe(
      'petstore: Cannot use journal j for this input: it belongs to another wanted state (with the same number of pets: 1); name journals after their job\n',
    );
    expect(await readFile(file('j'), 'utf8')).toBe(held);
    expect(requests()).toEqual([]);
  });

  test('of one service is refused for another service, which gets no request', async () => {
    await sync('petId,adjust\n1,1\n', ['--journal', file('j')]);
    served.sandbox.clear();
    const words = ['--journal', file('j'), '--environment', 'staging', '--base-url', served.stagingUrl];
    const { code, err } = await sync('petId,adjust\n1,1\n', words);
    expect(code).toBe(2);
    expect(err).toContain(`Cannot use journal j for ${served.stagingUrl}: it belongs to a job for ${served.url}`);
    expect(requests()).toEqual([]);
  });

  test('is refused with --sandbox, since the stock of a sandbox is lost afterwards', async () => {
    expect(await sync('petId,adjust\n1,1\n', ['--journal', file('j'), '--sandbox'])).toEqual({
      code: 2,
      out: '',
      err: 'petstore: Cannot use --journal with --sandbox: that sandbox ends with the command, so the job could not be resumed\n',
    });
  });

  test('survives an input with a row of 10 MB', async () => {
    await sync('petId,adjust\n1,1\n', ['--journal', file('j')]);
    const held = await readFile(file('j'), 'utf8');
    const { code, err } = await sync(`petId,adjust,note\n1,1,${'x'.repeat(10_000_000)}\n`, ['--journal', file('j')]);
    expect({ code, err }).toEqual({ code: 2, err: 'petstore: Cannot use in, row 2: it is longer than 65,536 characters\n' });
    expect(await readFile(file('j'), 'utf8')).toBe(held);
  });

  test.skipIf(process.platform !== 'linux')('on a full disk ends with 1 before anything is sent', async () => {
    const { code, err } = await sync('petId,adjust\n1,1\n', ['--journal', '/dev/full']);
    expect(code).toBe(1);
    expect(err).toMatch(/^petstore: Cannot write journal \/dev\/full: ENOSPC: no space left on device.*\n$/);
    expect(requests()).toEqual([]);
  });

  test('that cannot be a journal ends with 2', async () => {
    const folder = await sync('petId,adjust\n1,1\n', ['--journal', file('')]);
    expect(folder).toMatchObject({ code: 2, err: expect.stringContaining('it is a folder; name a file in it') });
    expect(await sync('petId,adjust\n1,1\n', ['--journal', file('no/j')])).toMatchObject({
      code: 2,
      err: expect.stringContaining('no/j: make its folder first'),
    });
    await symlink(file('loop'), file('loop'));
    expect(await sync('petId,adjust\n1,1\n', ['--journal', file('loop')])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^petstore: Cannot open journal loop: ELOOP/),
    });
    await writeFile(file('other'), 'petId,adjust\n1,1\n');
    expect(await sync('petId,adjust\n1,1\n', ['--journal', file('other')])).toMatchObject({
      code: 2,
      err: expect.stringContaining('line 1'),
    });
  });

  test('is refused if it is the input file', async () => {
    expect(await sync('petId,adjust\n1,1\n', ['--journal', file('in')])).toEqual({
      code: 2,
      out: '',
      err: 'petstore: Cannot use in as --journal: it is the input already\n',
    });
  });
});

test('petstore sync says how many pets were updated before its journal failed', async () => {
  const removeJournal = ({ path }: { path: string }) => {
    if (path === '/inventory/2') rmSync(file('j'));
    return false;
  };
  served.sandbox.faults.add({ status: 500, when: removeJournal });
  const words = ['--journal', file('j'), '--concurrency', '1'];
  const { code, out, err } = await sync('petId,adjust\n1,1\n2,1\n3,1\n', words);
  expect({ code, out, lines: err.split('\n') }).toEqual({
    code: 2,
    out: '',
    lines: [
      'petstore: 2 pets updated before the run failed',
      expect.stringMatching(/^petstore: Cannot continue with journal j: its file was removed/),
      '',
    ],
  });
  expect(requests()).toEqual(['GET /inventory', 'PATCH /inventory/1 6', 'PATCH /inventory/2 6']);
});

describe('a stdout that cannot be written to', () => {
  test.each([
    ['EPIPE', 4, ''],
    [
      'ENOSPC',
      1,
      'petstore: Cannot write to stdout: ENOSPC: write; the result: 1 updated, 0 unchanged, 1 missing, 0 failed, 0 pending (--verbose shows more)\n',
    ],
  ])('because of %s makes a job that is partly done end with %i', async (stdoutError, code, err) => {
    expect(await sync('petId,quantity\n1,9\n99,1\n', [], new FakeTerminal({ stdoutError }))).toEqual({ code, out: '', err });
    expect(served.sandbox.inventory.get(1)?.quantity).toBe(9);
  });

  test.each([
    ['EPIPE', 3],
    ['ENOSPC', 1],
  ])('because of %s does not shorten stderr', async (stdoutError, code) => {
    vi.stubEnv('PETSTORE_API_KEY', 'wrong');
    const result = await sync('petId,quantity\n1,9\n', [], new FakeTerminal({ stdoutError }));
    expect(result).toMatchObject({ code, err: expect.stringContaining('the service refused the key: 0 pets updated, 1 pet left') });
  });
});

describe('a stop', () => {
  test('by a day whose used-up quota is known ends with 5, and says so', async () => {
    const resetAt = Math.ceil(Date.now() / 1000) + 3 * 3600;
    const headers = { 'x-ratelimit-limit': '1000', 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(resetAt) };
    const spent = await serveSandbox({ pets: 1, faults: [{ headers }] });
    vi.stubEnv('PETSTORE_BASE_URL', spent.url);
    vi.stubEnv('PETSTORE_API_KEY', spent.keys.free);
    const { code, err } = await sync('petId,quantity\n1,777\n');
    expect(code).toBe(5);
    expect(err).toMatch(/petstore: today's quota is used up: 0 pets updated, 1 pet left; run it again after \S+Z for the rest/);
    await spent.close();
  });

  test('by a service that closes the key for the day ends with 5, says how to go on and when', async () => {
    const limited = await serveSandbox({
      pets: [1, 2, 3].map((petId) => ({ petId, quantity: 5 })),
      plans: { business: { requestsPerMinute: 100, requestsPerDay: 2 } },
      policy: 'fixed-first',
    });
    vi.stubEnv('PETSTORE_BASE_URL', limited.url);
    vi.stubEnv('PETSTORE_API_KEY', limited.keys.business);
    vi.stubEnv('PETSTORE_PLAN', 'business');
    const words = ['--journal', file('j'), '--concurrency', '1'];
    const { code, out, err } = await sync('petId,adjust\n1,1\n2,1\n3,1\n', words);
    expect({ code, out }).toEqual({ code: 5, out: '1 updated, 0 unchanged, 0 missing, 0 failed, 2 pending\n' });
    expect(err).toMatch(/not available before (\S+Z): 1 pet updated, 2 pets left; run the same command again after \1 to continue\n$/);
    await limited.close();
  });

  test('by a long Retry-After ends with 5, and does not call the day used up', async () => {
    const closed = await serveSandbox({ pets: 1, faults: [{ status: 429, headers: { 'retry-after': '180' } }] });
    vi.stubEnv('PETSTORE_BASE_URL', closed.url);
    vi.stubEnv('PETSTORE_API_KEY', closed.keys.pro);
    const { code, err } = await sync('petId,quantity\n1,777\n');
    expect(code).toBe(5);
    expect(err).toMatch(/petstore: quota is not available before (\S+Z): 0 pets updated, 1 pet left; run it again after \1 for the rest/);
    await closed.close();
  });

  test('by a bad key ends with 3', async () => {
    vi.stubEnv('PETSTORE_API_KEY', 'wrong');
    const { code, err } = await sync('petId,adjust\n1,1\n');
    expect(code).toBe(3);
    expect(err).toBe(
      'petstore: Cannot read the inventory: the service answered 401 invalid_key: The API key is not valid; check the key in PETSTORE_API_KEY or PETSTORE_API_KEY_FILE: it is not one of this environment, or is banned for a while\n' +
        'petstore: the service refused the key: 0 pets updated, 1 pet left; run it again for the rest; with adjustments, only with a --journal\n',
    );
  });

  test('by an interrupt lets the request under way finish, ends with 130, and says how to go on', async () => {
    const terminal = new FakeTerminal();
    const interruptSoon = ({ method }: { method: string }): boolean => {
      if (method === 'PATCH') setTimeout(() => terminal.interrupt(), 10);
      return method === 'PATCH';
    };
    served.sandbox.faults.add({ delayMs: 60, when: interruptSoon });
    const words = ['--journal', file('j'), '--concurrency', '1'];
    const { code, out, err } = await sync('petId,adjust\n1,1\n2,1\n3,1\n', words, terminal);
    expect({ code, out }).toEqual({ code: 130, out: '1 updated, 0 unchanged, 0 missing, 0 failed, 2 pending\n' });
    expect(err).toBe(
      'petstore: finishing the requests under way; interrupt again to end at once\n' +
        'petstore: interrupted: 1 pet updated, 2 pets left; run the same command again to continue\n',
    );
    expect(await readFile(file('j'), 'utf8')).toContain('{"type":"done","petId":1}');
    expect(requests()).toEqual(['GET /inventory', 'PATCH /inventory/1 6']);
    expect(terminal.exited).toBeUndefined();
    served.sandbox.faults.clear();
    expect((await sync('petId,adjust\n1,1\n2,1\n3,1\n', words)).out).toContain('3 updated');
  });

  test('by an interrupt ends calls that wait to be sent again', async () => {
    const terminal = new FakeTerminal();
    const interruptSoon = ({ method }: { method: string }): boolean => {
      if (method === 'PATCH') setTimeout(() => terminal.interrupt(), 30);
      return method === 'PATCH';
    };
    served.sandbox.faults.add({ status: 500, when: interruptSoon });
    expect(await sync('petId,adjust\n1,1\n', [], terminal)).toMatchObject({
      code: 130,
      err: expect.stringContaining('only with a --journal'),
    });
  });

  test('by an interrupt before the first update speaks of no requests under way', async () => {
    const terminal = new FakeTerminal();
    served.sandbox.faults.add({ fail: 'stall' });
    const running = sync('petId,adjust\n1,1\n', [], terminal);
    await expect.poll(requests).toHaveLength(1);
    terminal.interrupt();
    const { code, err } = await running;
    expect({ code, err }).toEqual({ code: 130, err: expect.stringMatching(/^petstore: interrupted: 0 pets updated, 1 pet left;.*\n$/) });
  });

  test('by a second interrupt is immediate', async () => {
    const terminal = new FakeTerminal();
    const interruptTwice = (): boolean => {
      setTimeout(() => [terminal.interrupt(), terminal.interrupt()], 10);
      return true;
    };
    served.sandbox.faults.add({ delayMs: 60, when: interruptTwice });
    await sync('petId,adjust\n1,1\n', [], terminal);
    expect(terminal.exited).toBe(130);
  });
});

describe('bad input', () => {
  test.each([
    ['a missing column', 'id,quantity\n1,2\n', 'row 1: it must name the columns, and petId is missing (found id, quantity)'],
    [
      'an invisible character in a column name',
      'petId\u200b,quantity\n1,2\n',
      'row 1: it must name the columns, and petId is missing (found petId\u200b, quantity): remove the space or invisible character U+200B',
    ],
    ['no header', '1,2\n2,3\n', 'row 1: it must name the columns, and petId is missing (found 1, 2)'],
    [
      'a missing column after a separator',
      'sep=;\nid;quantity\n1;2\n',
      'row 2: it must name the columns, and petId is missing (found id, quantity)',
    ],
    ['no amount', 'petId,name\n1,2\n', 'row 1: it must name the columns, and quantity or adjust is missing (found petId, name)'],
    ['a column twice', 'petId,petId,adjust\n1,2,3\n', 'row 1: the column petId occurs twice'],
    ['a quantity that is no integer', 'petId,quantity\n1,2\n2,2.5\n', 'row 3: quantity must be an integer, not "2.5": it has decimals'],
    [
      'a change in place of a quantity',
      'petId,quantity\n1,+5\n',
      'row 2: quantity "+5" has a plus sign: put a change into the column adjust',
    ],
    ['a quantity that is too large', 'petId,quantity\n1,9007199254740993\n', 'row 2: quantity "9007199254740993" is beyond ±(2^53−1)'],
    ['an id beyond int64', 'petId,quantity\n9223372036854775808,2\n', 'row 2: petId "9223372036854775808" is beyond int64'],
    ['an id that is none', '[{"petId":1,"quantity":2},{"petId":{},"quantity":2}]', 'row 2: petId must be an integer, not an object'],
    [
      'an id with a fraction that a double cannot hold',
      '[{"petId":4503599627370497.5,"quantity":2}]',
      'row 1: petId must be an integer, not "4503599627370497.5": it has decimals',
    ],
    [
      'a quantity with a fraction that a double cannot hold',
      '{"petId":1,"quantity":1.00000000000000000001}\n',
      'row 1: quantity must be an integer, not "1.00000000000000000001": it has decimals',
    ],
    [
      'a change so small that a double holds 0',
      '[{"petId":1,"adjust":1e-999}]',
      'row 1: adjust must be an integer, not "1e-999": write all of its digits; spreadsheets show long numbers in this form',
    ],
    ['no id', 'petId,quantity\n,2\n', 'row 2: it has no petId'],
    ['no id in NDJSON', '{"quantity":2}', 'row 1: it has no petId'],
    [
      'a list in an object',
      '{"data":[{"petId":1,"quantity":2}]}',
      'row 1: it has no petId; write a JSON array, or each object on one line',
    ],
    ['both columns', 'petId,quantity,adjust\n1,2,3\n', 'row 2: it has both a quantity and an adjust; leave one out'],
    ['neither column', 'petId,quantity,adjust\n1,,\n', 'row 2: it has neither a quantity nor an adjust'],
    ['a ragged row', 'petId,quantity\n1,2,3\n', 'row 2: it has 3 fields where the header has 2'],
    ['a row with one field', 'petId,quantity\n1\n', 'row 2: it has 1 field where the header has 2'],
    ['an open quote', 'petId,quantity\n1,"2\n', 'row 2: a quote is not closed'],
    ['a quote that is open to the end', 'petId,quantity\n\n1,2\n\n2,"3\n\n3,4\n4,5\n', 'row 5: a quote is not closed'],
    [
      'a quote that is open for too long',
      `petId,quantity\n\n1,2\n2,"3\n${'3,4\n'.repeat(20_000)}`,
      'row 4: it is longer than 65,536 characters',
    ],
    ['broken JSON', '[{"petId":1,"quantity":2},{"petId":}]', 'row 2: it is not valid JSON'],
    ['an open array', '[{"petId":1,"quantity":2}', 'row 1: the array is not closed, or something comes after it'],
    ['an array closed by a brace', '[{"petId":1,"quantity":2}}', 'row 1: the array is not closed, or something comes after it'],
    ['a trailing comma', '[{"petId":1,"quantity":2},]', 'row 2: it is not valid JSON'],
    ['text after the array', '[{"petId":1,"quantity":2}] x', 'row 2: the array is not closed, or something comes after it'],
    ['JSON of something else', '[[1,2]]', 'row 1: it must be an object with petId and quantity or adjust'],
    [
      'broken NDJSON',
      '{"petId":1,"quantity":2}\n{"petId":2',
      'row 2: it is not valid JSON; write a JSON array, or each object on one line',
    ],
    [
      'an object on several lines',
      '{\n"petId":1,"quantity":2}\n',
      'row 1: it is not valid JSON; write a JSON array, or each object on one line',
    ],
    ['a long JSON row', `[{"petId":1,"name":"${'x'.repeat(70_000)}`, 'row 1: it is longer than 65,536 characters'],
    ['a long complete JSON row', `[{"petId":1,"name":"${'x'.repeat(66_000)}"}]`, 'row 1: it is longer than 65,536 characters'],
    ['a long NDJSON row', `{"petId":1,"name":"${'x'.repeat(70_000)}`, 'row 1: it is longer than 65,536 characters'],
  ])('%s is reported with file, row and reason, and nothing is sent', async (_name, text, reason) => {
    expect(await sync(text)).toEqual({ code: 2, out: '', err: `petstore: Cannot use in, ${reason}\n` });
    expect(requests()).toEqual([]);
  });

  test.each([
    ['a long first line', 'a,'.repeat(70_000), 2],
    ['a bad row of spaces', `{"petId":1,"quantity":2}\n{"petId":${' '.repeat(60_000)}}\n`, 4],
  ])('%s takes no time', async (_name, text, exitCode) => {
    const beganMs = ownWorkMs();
    expect((await sync(text, ['--max-bad-rows', '1', '--report', file('spaces.txt')])).code).toBe(exitCode);
    expect(ownWorkMs() - beganMs).toBeLessThan(2_500);
  });

  test.each([
    ['a binary file', new Uint8Array([0x1f, 0x8b, 8, 0]), 'it is not UTF-8 text; save it as CSV, JSON or NDJSON in UTF-8'],
    ['a file with zeros', 'petId\0', 'it is not UTF-8 text; save it as CSV, JSON or NDJSON in UTF-8'],
    ['a torn character', new Uint8Array([0x31, 0xc3]), 'it is not UTF-8 text; save it as CSV, JSON or NDJSON in UTF-8'],
  ])('%s is reported with file and reason', async (_name, text, reason) => {
    expect(await sync(text)).toEqual({ code: 2, out: '', err: `petstore: Cannot use in: ${reason}\n` });
  });

  test('a directory, and a file that is not there', async () => {
    const terminal = new FakeTerminal();
    expect(await runCli(['sync', file('')], terminal)).toBe(2);
    expect(await runCli(['sync', file('none')], terminal)).toBe(2);
    expect(await runCli(['sync', file('in/x')], terminal)).toBe(2);
    expect(terminal.err.replaceAll(file(''), '')).toBe(
      'petstore: Cannot use : it is a directory\npetstore: Cannot use /none: there is no such file\npetstore: Cannot use /in/x: there is no such file\n',
    );
  });

  test.skipIf(process.platform !== 'linux')('a file whose disk fails while it is read, with its name, and as a failure', async () => {
    const terminal = new FakeTerminal();
    const broken = '/proc/self/mem';
    expect([await runCli(['sync', broken], terminal), terminal.err]).toEqual([
      1,
      `petstore: Cannot use ${broken}: it cannot be read (EIO) (--verbose shows more)\n`,
    ]);
  });

  test('stdin whose disk fails while it is read, with its name, and as a failure', async () => {
    const terminal = new FakeTerminal();
    vi.spyOn(terminal, 'stdin', 'get').mockImplementation(async function* () {
      yield new TextEncoder().encode('petId,quantity\n1,9\n');
      throw Object.assign(new Error('EIO: i/o error, read'), { code: 'EIO' });
    });
    expect([await runCli(['sync', '-'], terminal), terminal.err]).toEqual([
      1,
      'petstore: Cannot use stdin: it cannot be read (EIO) (--verbose shows more)\n',
    ]);
    expect(requests()).toEqual([]);
  });

  test('a variable that is not set, as the path', async () => {
    const terminal = new FakeTerminal();
    expect([await runCli(['sync', ''], terminal), terminal.err]).toEqual([2, 'petstore: Cannot use "": there is no such file\n']);
  });

  test('a concurrency out of range', async () => {
    expect((await sync('petId,quantity\n1,2\n', ['--concurrency', '0'])).err).toBe(
      'petstore: Cannot use --concurrency 0: it must be a whole number from 1 to 1000\n',
    );
  });
});

describe('progress', () => {
  test('is a bar on stderr if stderr is a terminal', async () => {
    served.sandbox.faults.add({ delayMs: 250, when: ({ path }) => path === '/inventory/2' });
    const { err, out } = await sync('petId,quantity\n1,9\n2,9\n', [], new FakeTerminal({ isTTY: true, env: { NO_COLOR: '1' } }));
    expect(err).toContain('░░ reading the list: 0 pets');
    expect(err).toMatch(/█{12}░{12} 1\/2, 3 requests, \d+ s left/);
    expect(out).toBe('2 updated, 0 unchanged, 0 missing, 0 failed, 0 pending\n');
  });
});
