import { Command } from 'commander';
import { VERSION } from '../version.ts';
import { type DoctorOptions, doctor } from './commands/doctor.ts';
import { get } from './commands/get.ts';
import { type ListOptions, list } from './commands/list.ts';
import { quota } from './commands/quota.ts';
import { type SandboxCommandOptions, sandbox } from './commands/sandbox.ts';
import { type SetOptions, set } from './commands/set.ts';
import { type SyncCommandOptions, sync } from './commands/sync.ts';
import { undo } from './commands/undo.ts';
import { type WatchOptions, watch } from './commands/watch.ts';
import type { CommonOptions } from './connect.ts';
import type { ExitCode } from './exit-code.ts';
import type { JobOptions } from './job.ts';
import type { Terminal } from './terminal.ts';

const ENVIRONMENT_HELP = `
Environment: PETSTORE_API_KEY or PETSTORE_API_KEY_FILE, PETSTORE_BASE_URL, PETSTORE_STAGING_BASE_URL, PETSTORE_ENVIRONMENT, PETSTORE_PLAN, PETSTORE_LOG, NO_COLOR
Exit codes: 0 ok, 1 failure, 2 usage, 3 authentication, 4 partly done, 5 quota, 130 interrupted, 143 terminated`;

/** The commands, their arguments and options; `exit` gets the code of the command that was run. */
export function createProgram(terminal: Terminal, exit: (code: ExitCode) => void): Command {
  const program = new Command('petstore')
    .description('The pet store inventory from the command line; --sandbox tries any command without a key')
    .version(VERSION)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
      outputError: (text, write) => write(text.replace(/^error: /, 'petstore: ').replace(/\n(?=.)/g, ' ')),
    })
    .addHelpText('after', ENVIRONMENT_HELP);
  addListCommands(program, terminal, exit);
  addPetCommands(program, terminal, exit);
  addWatchCommand(program, terminal, exit);
  addJobCommands(program, terminal, exit);
  addDoctorCommand(program, terminal, exit);
  addSandboxCommand(program, terminal, exit);
  return program;
}

function addListCommands(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  withCommonOptions(program.command('list').description('list the stock of all pets, as it comes'))
    .option('--csv', 'write CSV: petId,quantity,status')
    .option('--status <status>', 'only pets of this status, such as available, pending or sold')
    .action(async (options: ListOptions) => exit(await list(options, terminal)));
  withCommonOptions(program.command('quota').description("show what is left of the key's quota (costs one request)")).action(
    async (options: CommonOptions) => exit(await quota(options, terminal)),
  );
}

function addPetCommands(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  withCommonOptions(program.command('get <petId>').description('show the stock of one pet (costs one list)')).action(
    async (petId: string, options: CommonOptions) => exit(await get(petId, options, terminal)),
  );
  withCommonOptions(program.command('set <petId> <quantity>').description('set the stock of one pet'))
    .option('--allow-negative', 'let the stock become negative')
    .action(async (petId: string, quantity: string, options: SetOptions) => exit(await set({ petId, quantity }, options, terminal)));
}

function addWatchCommand(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  withCommonOptions(
    program.command('watch').description("write a line for each change, with half of the key's quota at most, until Ctrl-C"),
  )
    .option('--status <status>', 'only pets that have this status now')
    .option('--below <quantity>', 'only pets of which fewer are left now')
    .action(async (options: WatchOptions) => exit(await watch(options, terminal)));
}

function addJobCommands(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  withJobOptions(
    program.command('sync <file>').description('bring the stock to the state of a file with the fewest requests; - reads stdin'),
  )
    .option('--journal <path>', 'keep a journal of this job; run it again with the same one to go on')
    .option('--allow-negative', 'let a stock become negative')
    .option('--allow-empty', 'take a file without rows for a job that wants nothing')
    .option('--unique', 'refuse a file in which a pet has several rows')
    .option('--max-bad-rows <number>', 'pass over so many bad rows', '0')
    .option('--rejects <file>', 'write every bad row and its reason there, as CSV')
    .addHelpText(
      'after',
      '\nThe file: CSV with a header, a JSON array or NDJSON, with petId and either quantity or adjust (+5, -2) in each row.',
    )
    .action(async (file: string, options: SyncCommandOptions) => exit(await sync(file, options, terminal)));
  withJobOptions(program.command('undo <journal>').description('set back what the job of a journal set, where it still stands so'))
    .option('--journal <path>', 'keep the journal of the undo there, in place of beside the other with .undo after its name')
    .action(async (journal: string, options: JobOptions) => exit(await undo(journal, options, terminal)));
}

function withJobOptions(command: Command): Command {
  return withCommonOptions(command)
    .option('--dry-run', 'print the changes like a diff, and send none')
    .option('--concurrency <number>', 'updates under way at once', '16')
    .option('--priority <word>', 'low, or normal to go before other low calls of this process', 'low')
    .option('--until <time>', 'end then: 06:00, an instant, or a duration such as 90m; what is left is pending')
    .option('--max-changes <number>', 'refuse more changes than this: a number, or a part of the list such as 10%')
    .option('--allow-missing', "go on though most of the wanted pets are missing in the service's list")
    .option('--lists', 'name with --json also the pets that a run left which ended early');
}

function addDoctorCommand(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  withCommonOptions(
    program.command('doctor').description('check settings, network, certificate, key and limits (costs one request for each environment)'),
    '--environment <names...>',
  ).action(async (options: DoctorOptions) => exit(await doctor(options, terminal)));
}

function addSandboxCommand(program: Command, terminal: Terminal, exit: (code: ExitCode) => void): void {
  program
    .command('sandbox')
    .description('serve the whole service on this machine, with keys and limits of its own')
    .option('--port <port>', 'the port; 0 takes a free one', '8080')
    .option('--db <path>', 'a file that keeps the stock (SQLite)')
    .option('--pets <number>', 'made-up pets in a new stock', '12')
    .option('--limits <minute[/day]>', 'requests a minute and a day of every key, such as 60/1000')
    .option('--json', 'write addresses and keys as JSON')
    .option('-v, --verbose', 'show everything that is known of an error')
    .action(async (options: SandboxCommandOptions) => exit(await sandbox(options, terminal)));
}

function withCommonOptions(command: Command, environment = '--environment <name>'): Command {
  return command
    .option('--json', 'write JSON')
    .option('--sandbox', 'talk to a sandbox inside this process: no key needed, nothing is kept')
    .option('--base-url <url>', 'the address of the service, ending in /v1')
    .option(environment, 'production or staging')
    .option('--plan <name>', 'free, pro, business or unlimited')
    .option('--no-state', 'do not share the quota with other runs on this machine')
    .option('-v, --verbose', 'log every request, and show everything that is known of an error');
}
