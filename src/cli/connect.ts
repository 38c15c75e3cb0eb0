import { PetStoreClient } from '../client.ts';
import type { PlanLimits } from '../contract/plans.ts';
import type { Logger } from '../events.ts';
import { deprecationText } from '../log-lines.ts';
import { type PetStoreClientOptions, parsePlanLimits, resolveOptions } from '../options/client-options.ts';
import { fetchUsesProxies, PROXY_RULE, parseProxy, proxyFor, readProxyVariables, showBadProxy } from '../options/proxy.ts';
import { noteAddress } from './asked-address.ts';
import { refuseContradictions, refuseSameFile } from './contradictions.ts';
import { type InterruptOptions, type Interrupts, interruptSignal } from './interrupt.ts';
import { durationOption, shareOption } from './option-values.ts';
import { recordInto } from './recording-file.ts';
import { openState, type SharedState, stateFiles } from './state.ts';
import { StatusLine } from './status-line.ts';
import { tell, tellRetries, tellStore, tellWaits } from './tell.ts';
import type { Terminal } from './terminal.ts';
import { UsageError } from './usage-error.ts';

/** The options that every command has. */
export interface CommonOptions {
  json?: boolean;
  verbose?: boolean;
  sandbox?: boolean;
  baseUrl?: string;
  environment?: string;
  plan?: string;
  share?: string;
  maxWait?: string;
  timeout?: string;
  /** False for `--no-state`. */
  state?: boolean;
  quotaStore?: string;
  record?: string;
}

/** What a command needs of its connection. */
interface Needs extends InterruptOptions {
  /** The option that needs the shared state, if there is one. */
  needsState?: string | undefined;
  /** The paths that it reads or writes, by their names in messages. */
  files?: Readonly<Record<string, string | undefined>>;
}

/** A client that gives ids as bigints, so that each is exact. */
export type Client = PetStoreClient<'bigint'>;

/** The client's settings from the checked options. */
interface Settings extends Pick<PetStoreClientOptions, 'share' | 'maxWaitMs' | 'attemptTimeoutMs'> {
  plan: (typeof PLANS)[number] | PlanLimits | undefined;
  environment: (typeof ENVIRONMENTS)[number] | undefined;
  logger: Logger;
}

const PLANS = ['free', 'pro', 'business', 'unlimited'] as const;
export const ENVIRONMENTS = ['production', 'staging'] as const;

/** A client with its environment and shared state. */
export interface Connection {
  client: Client;
  /** As `environmentOf` names it. */
  environment: string;
  /** The state shared with other runs. */
  state: SharedState | undefined;
  /** Whether requests go through the proxies that the environment variables name. */
  usesProxies: boolean;
  close(): void;
}

/** A connection whose command ends at an interrupt. */
interface Session extends Connection, Pick<Interrupts, 'signal' | 'end' | 'stopTimer'> {}

/**
 * Makes a command's client, for the service or a new sandbox, reports its waits and retries, and listens for interrupts.
 *
 * @throws ConfigurationError, UsageError
 */
export async function connect(options: CommonOptions, terminal: Terminal, needs: Needs = {}): Promise<Session> {
  refuseContradictions(options);
  const { PETSTORE_API_KEY_FILE } = terminal.env;
  refuseSameFile({ ...stateFiles(options, terminal), PETSTORE_API_KEY_FILE, ...needs.files, '--record': options.record });
  const connection = await openClient(options, terminal, needs);
  const { client, usesProxies } = connection;
  const close = recorded(connection, options, terminal);
  const address = client.baseUrl;
  const asked = { address, source: sourceOfAddress(options, terminal), proxy: usesProxies ? proxyFor(address) : undefined };
  noteAddress(client, asked);
  client.on('deprecation', (event) => tell(terminal, `petstore: the service says: ${deprecationText(event)}`));
  tellRetries(client, asked, terminal);
  tellWaits(client, terminal);
  tellStore(client, terminal);
  const interrupts = interruptSignal(terminal, needs);
  return {
    ...connection,
    ...interrupts,
    close: () => {
      interrupts.stopListening();
      close();
      StatusLine.of(terminal).clear();
    },
  };
}

/** Starts the recording of `--record`, if it is given. Returns a function that closes the connection and the recording. */
function recorded({ client, close }: Connection, { record }: CommonOptions, terminal: Terminal): () => void {
  if (record === undefined) return close;
  try {
    const stop = recordInto(record, client, terminal);
    return () => {
      close();
      stop();
    };
  } catch (error) {
    close();
    throw error;
  }
}

/** Makes a command's client like `connect`, but reports no retries and waits, and records nothing. */
export async function openClient(options: CommonOptions, terminal: Terminal, { needsState }: Needs = {}): Promise<Connection> {
  const settings = settingsOf(options, terminal);
  const state = options.sandbox ? undefined : await openState({ ...options, needsState }, terminal);
  const proxies = options.sandbox ? {} : proxyAddresses();
  const makeClient = async () => {
    if (options.sandbox) return connectToSandbox(settings);
    return new PetStoreClient({ ...settings, int64: 'bigint', quotaStore: state?.quotaStore, baseUrl: addressOf(options, terminal) });
  };
  const client = await makeClient().catch((error) => {
    state?.close();
    throw error;
  });
  const usesProxies = await useProxies(proxies, client.baseUrl);
  const close = () => {
    client.close();
    state?.close();
  };
  return { client, state, usesProxies, environment: environmentOf(options, terminal), close };
}

/** Checks what a client is made of, without its key. @throws ConfigurationError, UsageError */
export function checkBesideKey(options: CommonOptions, terminal: Terminal): void {
  resolveOptions({ ...settingsOf(options, terminal), apiKey: 'any', baseUrl: addressOf(options, terminal) });
}

interface ProxyAddresses {
  http_proxy?: string | undefined;
  https_proxy?: string | undefined;
}

/** The proxies that the environment variables name, as Node takes them. @throws UsageError */
function proxyAddresses(): ProxyAddresses {
  const { http, https } = readProxyVariables();
  return { http_proxy: http && hrefOf(http), https_proxy: https && hrefOf(https) };
}

/**
 * Makes Node's fetch use these proxies, unless NO_PROXY exempts the address by our rules, from which Node's differ. Returns whether fetch
 * uses proxies: before Node 24.14, only if Node was started with that setting.
 */
async function useProxies(proxies: ProxyAddresses, address: string): Promise<boolean> {
  if (!proxies.http_proxy && !proxies.https_proxy) return false;
  const { setGlobalProxyFromEnv } = await import('node:http');
  // For an empty text Node would read the variable itself.
  setGlobalProxyFromEnv?.({ ...proxies, no_proxy: proxyFor(address) ? ',' : '*' });
  return setGlobalProxyFromEnv !== undefined || fetchUsesProxies();
}

/** Node wants an address with its protocol. @throws UsageError */
function hrefOf({ name, value }: { name: string; value: string }): string {
  const url = parseProxy(value);
  if (!url) throw new UsageError(`Cannot use "${showBadProxy(value)}" as ${name}: it must be ${PROXY_RULE}`);
  return url.href;
}

/** The name for output: `production`, `staging`, or `a sandbox of this process`. */
export function environmentOf({ sandbox, environment }: CommonOptions, { env }: Terminal): string {
  if (sandbox) return 'a sandbox of this process';
  return environment ?? (env.PETSTORE_ENVIRONMENT || 'production');
}

/** @throws UsageError */
function settingsOf({ plan, environment, share, maxWait, timeout, ...options }: CommonOptions, terminal: Terminal): Settings {
  return {
    plan: plan === undefined ? undefined : (parsePlanLimits(plan) ?? wordOf('plan', plan, PLANS)),
    environment: wordOf('environment', environment, ENVIRONMENTS),
    share: share === undefined ? undefined : shareOption(share),
    maxWaitMs: maxWait === undefined ? undefined : durationOption('max-wait', maxWait),
    attemptTimeoutMs: timeout === undefined ? undefined : durationOption('timeout', timeout),
    logger: loggerFor(options, terminal),
  };
}

/** The option or variable that sets the address. */
export function sourceOfAddress({ sandbox, baseUrl, environment }: CommonOptions, { env }: Terminal): string {
  if (sandbox) return '--sandbox';
  if (baseUrl !== undefined) return '--base-url';
  return (environment ?? env.PETSTORE_ENVIRONMENT) === 'staging' ? 'PETSTORE_STAGING_BASE_URL' : 'PETSTORE_BASE_URL';
}

/** The address of `--base-url`, which is that of the environment in use. */
function addressOf({ baseUrl, environment }: CommonOptions, { env }: Terminal): PetStoreClientOptions['baseUrl'] {
  return baseUrl !== undefined && (environment ?? env.PETSTORE_ENVIRONMENT) === 'staging' ? { staging: baseUrl } : baseUrl;
}

/** Larger than any limit that a service can have. */
const NO_LIMIT = { requestsPerMinute: 1_000_000_000 };

async function connectToSandbox({ plan = 'pro', ...settings }: Settings): Promise<Client> {
  const { createSandbox } = await import('../sandbox/index.ts');
  const limits = plan === 'unlimited' ? NO_LIMIT : plan;
  const { keys, baseUrl, fetch } = createSandbox(typeof limits === 'object' ? { plans: { business: limits } } : {});
  const apiKey = keys[typeof limits === 'object' ? 'business' : limits];
  return new PetStoreClient({ ...settings, int64: 'bigint', environment: 'production', apiKey, plan, baseUrl, fetch });
}

function wordOf<Word extends string>(option: string, value: string | undefined, words: readonly Word[]): Word | undefined {
  const word = words.find((known) => known === value);
  if (value !== undefined && word === undefined)
    throw new UsageError(
      `Cannot use --${option} ${value}: it must be one of ${words.join(', ')}${option === 'plan' ? ', or requests a minute and a day such as 5000/1000000' : ''}`,
    );
  return word;
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** Logs to stderr, since stdout is for data. */
function loggerFor({ verbose }: CommonOptions, terminal: Terminal): Logger {
  const named = verbose ? 'debug' : terminal.env.PETSTORE_LOG || 'off';
  const from = named === 'off' ? LEVELS.length : LEVELS.map(String).indexOf(named);
  if (from < 0) throw new UsageError(`Cannot use PETSTORE_LOG=${named}: it must be ${LEVELS.join(', ')} or off`);
  const log = (level: number) => (message: string) => (level >= from ? tell(terminal, message) : undefined);
  return { debug: log(0), info: log(1), warn: log(2), error: log(3) };
}
