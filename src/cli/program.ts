import { Command, Help, type Option } from 'commander';
import { VERSION } from '../version.ts';
import { type DoctorOptions, doctor } from './commands/doctor.ts';
import { get } from './commands/get.ts';
import { type ListOptions, list } from './commands/list.ts';
import type { McpOptions } from './commands/mcp.ts';
import { type QuotaCommandOptions, quota } from './commands/quota.ts';
import type { SandboxCommandOptions } from './commands/sandbox.ts';
import { type SetOptions, set } from './commands/set.ts';
import type { SyncCommandOptions } from './commands/sync.ts';
import { type WatchOptions, watch } from './commands/watch.ts';
import type { CommonOptions } from './connect.ts';
import type { ExitCode } from './exit-code.ts';
import { hideKey } from './hide-key.ts';
import type { JobOptions } from './job.ts';
import { messageText } from './tell.ts';
import type { Terminal } from './terminal.ts';

const ENVIRONMENT_HELP = `
Environment: PETSTORE_API_KEY or PETSTORE_API_KEY_FILE, PETSTORE_BASE_URL, PETSTORE_STAGING_BASE_URL, PETSTORE_ENVIRONMENT, PETSTORE_PLAN, PETSTORE_LOG, NO_COLOR, FORCE_COLOR
Exit codes: 0 ok, 1 failure, 2 usage, 3 authentication, 4 partly done, 5 quota, 129 terminal closed, 130 interrupted, 143 terminated`;

interface ProgramOutput {
  /** Receives the exit code of the command. */
  exit: (code: ExitCode) => void;
  /** Receives the text of `--help` and `--version`. */
  writeOut: (text: string) => void;
}

/** The commands with their arguments and options. Commands with large dependencies are imported when they run. */
export function createProgram(terminal: Terminal, { exit, writeOut }: ProgramOutput): Command {
  const program = new Command('petstore')
    .description('The pet store inventory from the command line; --sandbox tries any command without a key')
    .version(VERSION)
    .exitOverride()
    .configureHelp({ optionDescription })
    .configureOutput({
      writeOut,
      writeErr: (text) => terminal.stderr.write(messageText(text, terminal)),
      outputError: (text, write) => write(usageText(hideKey(text, terminal))),
    })
    .addHelpText('after', ENVIRONMENT_HELP);
  addStockCommands(program, terminal, exit);
  addWatchCommand(program, terminal, exit);
  addSyncCommand(program, terminal, exit);
  addUndoCommand(program, terminal, exit);
  addQuotaCommand(program, terminal, exit);
  addDoctorCommand(program, terminal, exit);
  addSandboxCommand(program, terminal, exit);
  addMcpCommand(program, terminal, exit);
  return program;
}

/** The text of an option in `--help`: as commander writes it, with its default as one types it, without quotes. */
function optionDescription(option: Option): string {
  return new Help().optionDescription(option).replace(/\(default: "(.*)"\)$/, '(default: $1)');
}

/**
 * A mistake in one line. Words that may be a key which no variable has are hidden: surplus arguments, the value of an unknown option, and an
 * unknown command, unless it is like a misspelt one: at most twenty characters without digits, underscores and apostrophes.
 */
function usageText(text: string): string {
  return text
    .replace(/^error: /, 'petstore: ')
    .replace(/(?<=too many arguments .*)\. Expected (\d+) arguments? but got (\d+): .*\.\n/s, ': it takes $1, but got $2\n')
    .replace(/(?<=unknown command ')(?=.*[\d'_].*'|.{21,}').+(?=')/s, '…')
    .replace(/(?<=unknown option ')(--[^=]*=|-[^-]).+'/isu, "$1…'")
    .replace(/'--[\w-]*(?:key|token)(?:=…?)?'/i, '$&: no option takes the key: set PETSTORE_API_KEY')
    .replace(/\n(?=.)/g, ' ');
}

function addStockCommands(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  const listing = program
    .command('list')
    .description('print the stock of all pets as it arrives')
    .option('--csv', 'write CSV: petId,quantity,status')
    .option('--status <status>', 'only pets of this status, such as available, pending or sold');
  withCommonOptions(listing).action(async (options: ListOptions) => exit(await list(options, terminal)));
  withCommonOptions(program.command('get <petId>').description('show the stock of one pet (costs one list)')).action(
    async (petId: string, options: CommonOptions) => exit(await get(petId, options, terminal)),
  );
  const setting = program
    .command('set <petId> <quantity>')
    .description('set the stock of one pet')
    .option('--allow-negative', 'let the stock become negative');
  withCommonOptions(setting).action(async (petId: string, quantity: string, options: SetOptions) =>
    exit(await set({ petId, quantity }, options, terminal)),
  );
}

function addWatchCommand(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  const command = program
    .command('watch')
    .description("print a line for each change until Ctrl-C, with at most half of the key's quota")
    .option('--status <status>', 'only pets that have this status now')
    .option('--below <quantity>', 'only pets with less stock now');
  withCommonOptions(command).action(async (options: WatchOptions) => exit(await watch(options, terminal)));
}

function addSyncCommand(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  const command = withJobOptions(
    program.command('sync <file>').description('bring the stock to the state of a file with the fewest requests; - reads stdin'),
  )
    .option('--journal <path>', 'keep a journal of this job; run it again with the same one to continue')
    .option('--allow-negative', 'let a stock become negative')
    .option('--allow-empty', 'accept a file without rows')
    .option('--unique', 'refuse a file in which a pet has several rows')
    .option('--max-bad-rows <number>', 'skip up to this many bad rows', '0')
    .option('--rejects <file>', 'write every bad row and its reason to this file, as CSV');
  withCommonOptions(command)
    .addHelpText(
      'after',
      '\nThe file: CSV with a header, a JSON array or NDJSON, with petId and either quantity or adjust (+5, -2) in each row.',
    )
    .action(async (file: string, options: SyncCommandOptions) => {
      const { sync } = await import('./commands/sync.ts');
      exit(await sync(file, options, terminal));
    });
}

function addUndoCommand(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  const command = withJobOptions(
    program.command('undo <journal>').description('reverse the job of a journal, except for pets that were changed since'),
  ).option('--journal <path>', 'the journal of the undo; by default that of the job with .undo after its name');
  withCommonOptions(command).action(async (journal: string, options: JobOptions) => {
    const { undo } = await import('./commands/undo.ts');
    exit(await undo(journal, options, terminal));
  });
}

function withJobOptions(command: Command): Command {
  return command
    .option('--dry-run', 'print the changes without sending them')
    .option('--concurrency <number>', 'updates under way at once', '16')
    .option('--priority <word>', 'low, or normal to send before low calls of this process', 'low')
    .option('--until <time>', 'when to stop: 06:00, an instant, or a duration such as 90m; the remaining updates stay pending')
    .option('--wait', "when the day's quota is used up, wait for as long as the service asks")
    .option('--max-changes <number>', 'refuse more changes than this: a number, or a part of the list such as 10%')
    .option('--allow-missing', "accept a file even if most of its pets are missing in the service's list")
    .option('--report <file>', 'write a report of what was done: .json, .csv, or .txt for mail')
    .option('--lock <name>', 'run only while no other run holds this lock, in --quota-store or on this machine')
    .option('--lists', 'with --json, list the pets even if the run ended early');
}

function addQuotaCommand(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  const command = program
    .command('quota')
    .description("show what is left of the key's quota (costs one request)")
    .option('--reset', 'forget the quota that is recorded on this machine or in --quota-store (costs no request)');
  withCommonOptions(command, { maxWait: '5s' }).action(async (options: QuotaCommandOptions) => exit(await quota(options, terminal)));
}

function addDoctorCommand(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  withClientOptions(
    program.command('doctor').description('check settings, network, certificate, key and limits (costs one request for each environment)'),
    { environment: '--environment <names...>' },
  ).action(async (options: DoctorOptions) => exit(await doctor(options, terminal)));
}

function addSandboxCommand(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  program
    .command('sandbox')
    .description('serve a sandbox of the service on this machine')
    .option('--port <port>', 'the port; 0 takes a free one', '8080')
    .option('--db <path>', 'a file that keeps the stock (SQLite)')
    .option('--pets <number>', 'made-up pets in a new stock (default: 12)')
    .option('--limits <minute[/day]>', 'requests a minute and a day of every key, such as 60/1000')
    .option('--cors <origins...>', 'let pages of these origins call the sandbox, such as http://localhost:5173')
    .option('--state', 'show what the keys of the sandbox at --port have left, and exit')
    .option('--reset', 'reset the stock, quotas and requests of the sandbox at --port, and exit')
    .option('--json', 'write addresses and keys, or the state, as JSON')
    .option('-v, --verbose', 'show all fields of an error')
    .action(async (options: SandboxCommandOptions) => {
      const { sandbox } = await import('./commands/sandbox.ts');
      exit(await sandbox(options, terminal));
    });
}

function addMcpCommand(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  const command = program
    .command('mcp')
    .description('serve the stock to an agent by the Model Context Protocol over stdin and stdout, read-only')
    .option('--allow-updates', 'let the agent plan updates, and apply the plans that were shown')
    .option('--max-changes <number>', 'refuse plans of more changes: a number, or a part of the list such as 10% (default: 100)')
    .option('--allow-negative', 'let a stock become negative')
    .option('--journals <folder>', "the folder for the journals of applied plans; by default this user's state folder");
  // Less than the time limit of a tool call, which is one minute by default in MCP hosts.
  withCommonOptions(command, { maxWait: '45s' }).action(async (options: McpOptions) => {
    const { mcp } = await import('./commands/mcp.ts');
    exit(await mcp(options, terminal));
  });
}

function withCommonOptions(command: Command, defaults: Pick<ClientFlags, 'maxWait'> = {}): Command {
  return withClientOptions(command, { ...defaults, environment: '--environment <name>' }).option(
    '--record <file>',
    'record requests, answers and waits in this file, to replay them; without the key, ids or quantities',
  );
}

interface ClientFlags {
  environment: string;
  /** In place of the client's own default. */
  maxWait?: string;
}

function withClientOptions(command: Command, { environment, maxWait }: ClientFlags): Command {
  const longestWait = 'the longest wait until the service accepts requests again, such as 10m';
  return command
    .optionsGroup('Common options:')
    .option('--json', 'write JSON')
    .option('--sandbox', 'use a sandbox inside this process: it needs no key and keeps nothing')
    .option('--base-url <url>', 'the address of the service, ending in /v1')
    .option(environment, 'production or staging')
    .option('--plan <name>', 'free, pro, business, unlimited, or requests a minute and a day such as 5000/1000000')
    .option('--share <part>', "use this part of the key's quota, such as 0.5; low:0.5 for calls of low priority alone")
    .option('--max-wait <time>', maxWait === undefined ? `${longestWait} (default: 2m)` : longestWait, maxWait)
    .option('--timeout <time>', 'the time limit of one attempt, such as 10s (default: 30s)')
    .option('--quota-store <place>', 'share the quota with other programs in this place: file:PATH, or redis://HOST:PORT')
    .option('--no-state', 'do not share the quota with other runs on this machine')
    .option('-v, --verbose', 'log every request, and show all fields of an error');
}
