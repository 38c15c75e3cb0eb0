import { isPetStoreError } from '../../errors.ts';
import { asNote, GUIDES, isProblem } from '../../node/check/finding.ts';
import { checkClient } from '../../node/check-service.ts';
import type { Finding } from '../../node/index.ts';
import { withoutControls } from '../../redactor.ts';
import { fieldOf } from '../../thrown.ts';
import { type Paint, paintFor } from '../colour.ts';
import { type CommonOptions, checkBesideKey, ENVIRONMENTS, environmentOf, openClient, sourceOfAddress } from '../connect.ts';
import { refuseContradictions, refuseGiven } from '../contradictions.ts';
import { counted } from '../duration.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { adviceOnUnnamed, inWords, messageLine } from '../explain-error.ts';
import { hideKey } from '../hide-key.ts';
import { interruptSignal } from '../interrupt.ts';
import { checkEnvironments, checkSettings, type SettingName } from '../settings.ts';
import { isStorageFailure } from '../storage-failure.ts';
import { type Terminal, writeResult } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

export interface DoctorOptions extends Omit<CommonOptions, 'environment'> {
  environment?: string[];
}

type Line = Finding<Finding['check'] | SettingName>;

/** The findings for one environment. */
interface Diagnosis {
  environment: string;
  address?: string;
  isWell: boolean;
  findings: Line[];
}

/** What was found through a client. */
interface Checked {
  address?: string;
  findings: Line[];
  /** Whether the state that runs share could be opened; undefined if the client could not be made. */
  isShared?: boolean;
}

/** Checks settings and the connection to the service, with one request for each environment. */
export async function doctor(options: DoctorOptions, terminal: Terminal): Promise<ExitCode> {
  const { signal, stopListening } = interruptSignal(terminal);
  try {
    const diagnoses: Diagnosis[] = [];
    refuseContradictions(options);
    for (const environment of askedEnvironments(options, terminal))
      diagnoses.push(await examine({ ...options, environment }, terminal, signal));
    const isWell = diagnoses.every((diagnosis) => diagnosis.isWell);
    const text = options.json
      ? `${JSON.stringify({ isWell, environments: diagnoses })}\n`
      : textOf(diagnoses, paintFor(terminal.stdout, terminal));
    await writeResult(terminal.stdout, hideKey(text, terminal), { signal });
    return exitCodeOf(diagnoses);
  } finally {
    stopListening();
  }
}

/** The code of what is wrong with every environment that is not well; a failure if these codes differ. */
function exitCodeOf(diagnoses: readonly Diagnosis[]): ExitCode {
  const [code = EXIT.done, ...others] = new Set(diagnoses.filter(({ isWell }) => !isWell).map(failureOf));
  return others.length === 0 ? code : EXIT.failure;
}

/** The code of other commands, which fail too if the key is missing, refused or closed. */
function failureOf({ findings }: Diagnosis): ExitCode {
  if (findings.some((finding) => (isKeyFault(finding) && !isStorageFailure(finding.facts)) || finding.facts?.status === 401))
    return EXIT.authentication;
  return findings.some(({ facts }) => facts?.closedUntil !== undefined) ? EXIT.quota : EXIT.failure;
}

/** The environments to check. @throws UsageError that names the variable, since the options that are passed on would blame --environment */
function askedEnvironments({ environment, baseUrl, sandbox }: DoctorOptions, { env }: Terminal): ReadonlySet<string> {
  if (environment) {
    const asked = new Set(environment);
    if (asked.size > 1) refuseGiven({ '--base-url': baseUrl }, 'with two environments: it is the address of one; leave one out');
    return asked;
  }
  const named = (!sandbox && env.PETSTORE_ENVIRONMENT) || 'production';
  if (ENVIRONMENTS.some((known) => known === named)) return new Set([named]);
  throw new UsageError(`Cannot use PETSTORE_ENVIRONMENT=${named}: it must be one of ${ENVIRONMENTS.join(', ')}`);
}

async function examine(options: CommonOptions, terminal: Terminal, signal: AbortSignal): Promise<Diagnosis> {
  const { address, findings, isShared = options.state !== false } = await check(options, terminal, signal);
  const settings: Line[] = [...checkSettings({ ...options, state: isShared }, terminal), ...checkEnvironments(options, terminal)];
  const all = merged(settings, findings);
  const environment = environmentOf(options, terminal);
  return { environment, ...(address && { address }), isWell: !all.some(isProblem), findings: all };
}

/** Each cause once: the client's refusal of a setting stands in the line of that setting, and a refused key that is faulty is a note. */
function merged(settings: readonly Line[], findings: readonly Line[]): Line[] {
  const isFaulty = settings.some(isKeyFault);
  const lines = settings.map((line) => (isProblem(line) ? line : (findings.find(({ check }) => check === line.check) ?? line)));
  const others = findings.filter(({ check }) => !settings.some((line) => line.check === check));
  return [...lines, ...others.map((line) => (isFaulty && line.facts?.status === 401 ? asNote(line, line.message) : line))];
}

function isKeyFault(line: Line): boolean {
  return line.check === 'key' && isProblem(line);
}

/** The lines of the settings that the client may refuse. */
const LINES: Readonly<Record<string, SettingName>> = { apiKey: 'key', plan: 'plan given' };

/** Checks the service through a client. A `ConfigurationError` is a finding; a usage error is thrown, as in every command. */
async function check(options: CommonOptions, terminal: Terminal, signal: AbortSignal): Promise<Checked> {
  try {
    const { client, state, usesProxies, close } = await openClient(options, terminal);
    const losses: Line[] = [];
    client.on('quotaStore', ({ reason = '' }) => losses.push(lossOf(reason)));
    try {
      const { address, findings } = await checkClient(client, { signal, usesProxies, isInside: options.sandbox });
      const isShared = state !== undefined;
      const source = sourceOfAddress(options, terminal);
      return { address, isShared, findings: [...losses, ...findings.map((finding) => inOptions(finding, source))] };
    } finally {
      close();
    }
  } catch (error) {
    const refusal = refusalOf(error);
    if (refusal.check !== 'key') return { findings: [refusal] };
    try {
      checkBesideKey(options, terminal);
      return { findings: [refusal] };
    } catch (another) {
      return { findings: [refusal, refusalOf(another)] };
    }
  }
}

/** The finding for a setting that the client refuses. @throws any other error */
function refusalOf(error: unknown): Line {
  if (!isPetStoreError(error) || error.kind !== 'configuration') throw error;
  const { option } = error;
  const see = option === 'baseUrl' ? GUIDES.environments : 'docs/cli.md#the-command-line';
  const facts = { option, code: fieldOf(error.cause, 'code') };
  return { check: LINES[option] ?? 'client', outcome: 'problem', message: inWords(error.message), see, facts };
}

/** The finding that the state which runs share was opened, but could not be used. */
function lossOf(reason: string): Line {
  return { check: 'shared', outcome: 'problem', message: `the quota is not shared: ${reason}`, see: 'docs/cli.md#what-runs-share' };
}

/** A finding with the options of the command line in place of the client's, and the source of the address. */
function inOptions(finding: Finding, source: string): Finding {
  const message = messageLine(finding.message);
  const { check, advice, facts } = finding;
  if (check === 'address') return { ...finding, message: `${message} (${source})`, facts: { ...facts, source } };
  // A note has no advice, since another finding explains it.
  const isUnnamed = isProblem(finding) && advice === undefined && facts?.status !== undefined && facts.code !== undefined;
  return { ...finding, message, ...(isUnnamed && { advice: adviceOnUnnamed(facts.status) }) };
}

const COLOURS = { ok: 'green', note: 'yellow', problem: 'red' } as const;

function textOf(diagnoses: readonly Diagnosis[], paint: Paint): string {
  const blocks = diagnoses.map(
    ({ environment, findings }) => `${paint('bold', environment)}\n${findings.map((line) => lineOf(line, paint)).join('')}`,
  );
  const problems = countOf(diagnoses, 'problem');
  const notes = countOf(diagnoses, 'note');
  const end = `${problems === 0 ? 'All is well' : counted(problems, 'problem')}${notes === 0 ? '' : `, ${counted(notes, 'note')}`}\n`;
  return `${blocks.join('\n')}\n${end}`;
}

const MARGIN = ' '.repeat(22);

function lineOf({ check, outcome, message, advice, see }: Line, paint: Paint): string {
  const first = `${paint(COLOURS[outcome], outcome.padEnd(8))} ${check.padEnd(12)} ${withoutControls(message)}\n`;
  if (outcome === 'ok') return first;
  const rest = [advice === undefined ? '' : `${MARGIN}-> ${advice}\n`, see === undefined ? '' : paint('dim', `${MARGIN}   ${see}\n`)];
  return first + rest.join('');
}

/** Counts what two environments share once. */
function countOf(diagnoses: readonly Diagnosis[], wanted: Line['outcome']): number {
  const lines = diagnoses.flatMap(({ findings }) => findings).filter(({ outcome }) => outcome === wanted);
  return new Set(lines.map(({ check, message }) => `${check} ${message}`)).size;
}
