import { PetStoreClient } from '../client.ts';
import type { Logger } from '../events.ts';
import type { QuotaStore } from '../quota-store.ts';
import { noteAddress } from './asked-address.ts';
import { openState } from './state.ts';
import { StatusLine } from './status-line.ts';
import { tell } from './tell.ts';
import { tellRetries } from './tell-retries.ts';
import { tellWaits } from './tell-waits.ts';
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
  /** False for `--no-state`. */
  state?: boolean;
}

/** Ids come out exact, however long they are. */
export type Client = PetStoreClient<'bigint'>;

/** Options of a few words, checked. */
interface Words {
  plan: (typeof PLANS)[number] | undefined;
  environment: (typeof ENVIRONMENTS)[number] | undefined;
}

const PLANS = ['free', 'pro', 'business', 'unlimited'] as const;
const ENVIRONMENTS = ['production', 'staging'] as const;

/** A client and what ends with it. */
export interface Connection {
  client: Client;
  /** Where it asks, for a reader: `production`, `staging`, or `a sandbox of this process`. */
  environment: string;
  close(): void;
}

/** Makes the client that a command talks through, to the service or to a sandbox of its own. @throws ConfigurationError, UsageError */
export async function connect(options: CommonOptions, terminal: Terminal): Promise<Connection> {
  const connection = await openClient(options, terminal);
  const { client, close } = connection;
  const asked = { address: client.baseUrl, source: sourceOfAddress(options, terminal) };
  noteAddress(client, asked);
  tellRetries(client, asked, terminal);
  tellWaits(client, terminal);
  return {
    ...connection,
    close: () => {
      close();
      StatusLine.of(terminal).clear();
    },
  };
}

/** The same without a word of retries and waits. */
export async function openClient(options: CommonOptions, terminal: Terminal): Promise<Connection> {
  const logger = loggerFor(options, terminal);
  const words = { plan: wordOf('plan', options.plan, PLANS), environment: wordOf('environment', options.environment, ENVIRONMENTS) };
  const state = options.sandbox || options.state === false ? undefined : openState(terminal);
  const makeClient = () => (options.sandbox ? connectToSandbox(words, logger) : connectToService({ ...options, ...words }, state, logger));
  const client = await makeClient().catch((error) => {
    state?.close();
    throw error;
  });
  const close = () => {
    client.close();
    state?.close();
  };
  return { client, environment: environmentOf(options, terminal), close };
}

function environmentOf({ sandbox, environment }: CommonOptions, { env }: Terminal): string {
  if (sandbox) return 'a sandbox of this process';
  return environment ?? (env.PETSTORE_ENVIRONMENT || 'production');
}

/** Which option or variable gave the address. */
export function sourceOfAddress({ sandbox, baseUrl, environment }: CommonOptions, { env }: Terminal): string {
  if (sandbox) return '--sandbox';
  if (baseUrl !== undefined) return '--base-url';
  return (environment ?? env.PETSTORE_ENVIRONMENT) === 'staging' ? 'PETSTORE_STAGING_BASE_URL' : 'PETSTORE_BASE_URL';
}

async function connectToService(
  { baseUrl, environment, plan }: Omit<CommonOptions, keyof Words> & Words,
  quotaStore: QuotaStore | undefined,
  logger: Logger,
): Promise<Client> {
  return new PetStoreClient({
    int64: 'bigint',
    logger,
    environment,
    plan,
    quotaStore,
    baseUrl: baseUrl !== undefined && environment === 'staging' ? { staging: baseUrl } : baseUrl,
  });
}

/** What a limit has to be so that nobody meets it. */
const NO_LIMIT = { requestsPerMinute: 1_000_000_000 };

async function connectToSandbox({ plan = 'pro' }: Words, logger: Logger): Promise<Client> {
  const { createSandbox } = await import('../sandbox/index.ts');
  const { keys, baseUrl, fetch } = createSandbox(plan === 'unlimited' ? { plans: { business: NO_LIMIT } } : {});
  const apiKey = keys[plan === 'unlimited' ? 'business' : plan];
  return new PetStoreClient({ int64: 'bigint', logger, environment: 'production', apiKey, plan, baseUrl, fetch });
}

function wordOf<Word extends string>(option: string, value: string | undefined, words: readonly Word[]): Word | undefined {
  const word = words.find((known) => known === value);
  if (value !== undefined && word === undefined)
    throw new UsageError(`Cannot use --${option} ${value}: it must be one of ${words.join(', ')}`);
  return word;
}

const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

/** Logs go to stderr: stdout is for data. */
function loggerFor({ verbose }: CommonOptions, terminal: Terminal): Logger {
  const named = terminal.env.PETSTORE_LOG || (verbose ? 'debug' : 'off');
  const from = named === 'off' ? LEVELS.length : LEVELS.map(String).indexOf(named);
  if (from < 0) throw new UsageError(`Cannot use PETSTORE_LOG=${named}: it must be ${LEVELS.join(', ')} or off`);
  const log = (level: number) => (message: string) => (level >= from ? tell(terminal, message) : undefined);
  return { debug: log(0), info: log(1), warn: log(2), error: log(3) };
}
