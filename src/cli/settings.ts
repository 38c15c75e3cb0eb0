import { GUIDES } from '../node/check/finding.ts';
import type { Finding } from '../node/index.ts';
import type { CommonOptions } from './connect.ts';
import { keyOf } from './hide-key.ts';
import { showPlace, stateFolder } from './state.ts';
import type { Terminal } from './terminal.ts';

/** The checks of `petstore doctor` that `checkService` does not make. */
export type SettingName = 'environment' | 'environments' | 'key' | 'plan given' | 'shared' | 'client';

type Setting = Finding<SettingName>;

/** The settings that a command would use, and the source of each. Never contains the key. */
export function checkSettings(options: CommonOptions, terminal: Terminal): Setting[] {
  if (options.sandbox) return [{ check: 'key', outcome: 'ok', message: 'one of the sandbox (--sandbox)' }];
  return [checkName(options, terminal), checkKey(terminal), checkPlan(options, terminal), checkState(options, terminal)];
}

function checkName({ environment }: CommonOptions, { env }: Terminal): Setting {
  const variable = env.PETSTORE_ENVIRONMENT || 'production';
  const source = variable !== environment ? '--environment' : env.PETSTORE_ENVIRONMENT ? 'PETSTORE_ENVIRONMENT' : 'the default';
  return { check: 'environment', outcome: 'ok', message: `${environment} (${source})`, facts: { value: environment, source } };
}

/** Finds a key that is missing, badly pasted or a placeholder. */
function checkKey({ env }: Terminal): Setting {
  const { PETSTORE_API_KEY: key, PETSTORE_API_KEY_FILE: file } = env;
  const source = key ? 'PETSTORE_API_KEY' : file ? `the file ${file} (PETSTORE_API_KEY_FILE)` : undefined;
  if (source === undefined)
    return { check: 'key', outcome: 'problem', message: 'there is none', advice: 'set PETSTORE_API_KEY or PETSTORE_API_KEY_FILE' };
  const fault = faultOf(keyOf(env));
  const facts = { source };
  if (!fault) return { check: 'key', outcome: 'ok', message: `from ${source}`, facts };
  return {
    check: 'key',
    outcome: 'problem',
    message: `from ${source}: it ${fault}`,
    advice: 'set it to the key alone',
    see: GUIDES.key,
    facts,
  };
}

function faultOf(key: string): string | undefined {
  if (/^\s|\s$/.test(key)) return 'begins or ends with white space';
  if (/^bearer\b/i.test(key)) return 'begins with "Bearer", which the client adds';
  if (/^["'`]|["'`]$/.test(key)) return 'is in quotes';
  if (/[^\x21-\x7e]/.test(key)) return 'has characters that a key cannot have';
  return /^(?:your[-_]?(?:api[-_]?)?key|changeme|xxx+|<.*>|\$\{?\w+\}?)$/i.test(key) ? 'is a placeholder' : undefined;
}

function checkPlan({ plan }: CommonOptions, { env }: Terminal): Setting {
  const source = plan !== undefined ? '--plan' : env.PETSTORE_PLAN ? 'PETSTORE_PLAN' : undefined;
  const value = plan ?? env.PETSTORE_PLAN;
  const message = source === undefined ? 'none: learned from the headers, free until then' : `${value} (${source})`;
  return { check: 'plan given', outcome: 'ok', message, facts: { value, source } };
}

function checkState({ state, quotaStore }: CommonOptions, terminal: Terminal): Setting {
  if (quotaStore !== undefined) {
    const place = showPlace(quotaStore);
    return { check: 'shared', outcome: 'ok', message: `the quota is shared with others in ${place} (--quota-store)`, facts: { place } };
  }
  const folder = state === false ? undefined : stateFolder(terminal, process.platform);
  const message = folder ? `the quota is shared with other runs of this user, in ${folder}` : 'the quota is not shared with other runs';
  return { check: 'shared', outcome: 'ok', message, facts: { folder } };
}

/** Compares the addresses of staging and production if both are set; sends no request. */
export function checkEnvironments({ sandbox, baseUrl, environment }: CommonOptions, { env }: Terminal): Setting[] {
  const production = environment === 'staging' ? env.PETSTORE_BASE_URL : (baseUrl ?? env.PETSTORE_BASE_URL);
  const staging = environment === 'staging' ? (baseUrl ?? env.PETSTORE_STAGING_BASE_URL) : env.PETSTORE_STAGING_BASE_URL;
  const [first, second] = [URL.parse(production ?? ''), URL.parse(staging ?? '')];
  if (sandbox || !first || !second) return [];
  const check = 'environments';
  if (first.host !== second.host) return [{ check, outcome: 'ok', message: `production is at ${first.host}, staging at ${second.host}` }];
  const see = GUIDES.environments;
  const facts = { host: first.host };
  const message = `production and staging are the same host, ${first.host}`;
  // One host may serve both at different paths, as the sandbox does.
  const [firstPath, secondPath] = [first, second].map(({ pathname }) => pathname.replace(/\/$/, ''));
  if (firstPath !== secondPath) return [{ check, outcome: 'note', message: `${message}, at different paths`, see, facts }];
  const advice = 'check PETSTORE_BASE_URL and PETSTORE_STAGING_BASE_URL: tests in staging would change the stock of the shop';
  return [{ check, outcome: 'problem', message, advice, see, facts }];
}
