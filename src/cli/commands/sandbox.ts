import { untilAborted } from '../../clock/until-aborted.ts';
import { VERSION_SEGMENT } from '../../contract/http.ts';
import type { PlanLimits } from '../../contract/plans.ts';
import type { ServedSandbox } from '../../node/index.ts';
import { parsePlanLimits } from '../../options/client-options.ts';
import { MOST_PETS } from '../../sandbox/options.ts';
import { refuseGiven } from '../contradictions.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { interruptSignal } from '../interrupt.ts';
import { jsonText } from '../json-text.ts';
import { wholeNumber } from '../option-values.ts';
import { describeState, readSandboxState, resetSandbox } from '../sandbox-state.ts';
import { forgetShared } from '../state.ts';
import { tell } from '../tell.ts';
import { type Terminal, writeResult } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

export interface SandboxCommandOptions {
  json?: boolean;
  verbose?: boolean;
  port: string;
  db?: string;
  pets?: string;
  limits?: string;
  cors?: string[];
  state?: boolean;
  reset?: boolean;
}

/** Serves a sandbox, or with --state and --reset contacts one that is already being served. */
export async function sandbox(options: SandboxCommandOptions, terminal: Terminal): Promise<ExitCode> {
  return options.state || options.reset ? askServed(options, terminal) : serve(options, terminal);
}

async function askServed(options: SandboxCommandOptions, terminal: Terminal): Promise<ExitCode> {
  refuseUnused(options);
  const pageUrl = `http://127.0.0.1:${portNumber(options.port)}/`;
  if (options.reset) await resetSandbox(pageUrl);
  const state = await readSandboxState(pageUrl);
  if (options.reset) {
    const addresses = [`${pageUrl}${VERSION_SEGMENT}`, `${pageUrl}staging/${VERSION_SEGMENT}`];
    await forgetShared({ addresses, apiKeys: state.keys.map(({ key }) => key) }, terminal);
  }
  if (!options.state) return EXIT.done;
  const text = options.json ? `${JSON.stringify(state)}\n` : describeState(state);
  await writeResult(terminal.stdout, text, { outcome: options.reset ? 'the sandbox is reset' : undefined });
  return EXIT.done;
}

/** Refuses options that a sandbox takes only when it is started. @throws UsageError */
function refuseUnused({ db, pets, limits, cors, reset }: SandboxCommandOptions): void {
  const unused = { '--db': db, '--pets': pets, '--limits': limits, '--cors': cors };
  refuseGiven(unused, `with --${reset ? 'reset' : 'state'}: the sandbox at --port is already served`);
}

/** Serves until it is interrupted. Writes addresses and keys to stdout, in the format of an .env file or as JSON. */
async function serve(options: SandboxCommandOptions, terminal: Terminal): Promise<ExitCode> {
  const limits = options.limits === undefined ? undefined : parseLimits(options.limits);
  const { serveSandbox } = await import('../../node/serve.ts');
  const served = await serveSandbox({
    port: portNumber(options.port),
    ...(options.pets !== undefined && { pets: wholeNumber('pets', options.pets, { min: 0, max: MOST_PETS }) }),
    ...(options.db !== undefined && { db: options.db }),
    ...(options.cors !== undefined && { cors: options.cors }),
    ...(limits && { plans: { free: limits, pro: limits, business: limits } }),
  });
  const { url, stagingUrl, pageUrl, keys } = served;
  const shown = { url, stagingUrl, pageUrl, keys };
  const { signal, stopListening } = interruptSignal(terminal);
  try {
    await forgetShared({ addresses: [url, stagingUrl], apiKeys: Object.values(keys) }, terminal);
    await writeResult(terminal.stdout, options.json ? `${jsonText(shown)}\n` : describeServed(shown), { signal });
    tell(terminal, `The sandbox is at ${pageUrl}; Ctrl-C ends it`);
    await untilAborted(new Promise(() => {}), signal).catch(() => {});
  } finally {
    stopListening();
    await served.close();
  }
  return EXIT.done;
}

/** An .env file: all addresses and keys as comments, and those of one client as variables. */
function describeServed({ url, stagingUrl, pageUrl, keys }: Pick<ServedSandbox, 'url' | 'stagingUrl' | 'pageUrl' | 'keys'>): string {
  const places = { page: pageUrl, production: url, staging: stagingUrl };
  const named = [...Object.entries(places), ...Object.entries(keys).map(([plan, key]) => [`${plan} key`, key] as const)];
  const comments = named.map(([name, value]) => `# ${name.padEnd(12)} ${value}\n`).join('');
  return `${comments}PETSTORE_BASE_URL=${url}\nPETSTORE_STAGING_BASE_URL=${stagingUrl}\nPETSTORE_API_KEY=${keys.pro}\n`;
}

function portNumber(text: string): number {
  const port = wholeNumber('port', text);
  if (port <= 65_535) return port;
  throw new UsageError(`Cannot use --port ${text}: it must be at most 65535, or 0 for a free one`);
}

/** Parses `300/10000`, the requests a minute and a day, or `300`, those a minute alone. */
function parseLimits(text: string): PlanLimits {
  const limits = parsePlanLimits(text);
  if (limits === undefined) throw new UsageError(`Cannot use --limits ${text}: it must be requests a minute and a day, such as 60/1000`);
  return limits;
}
