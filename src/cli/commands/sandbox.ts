import type { PlanLimits } from '../../contract/plans.ts';
import { parsePlanLimits } from '../../options/client-options.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { interruptSignal } from '../interrupt.ts';
import { jsonText } from '../json-text.ts';
import { tell } from '../tell.ts';
import { type Terminal, writeResult } from '../terminal.ts';
import { UsageError } from '../usage-error.ts';

export interface SandboxCommandOptions {
  json?: boolean;
  verbose?: boolean;
  port: string;
  db?: string;
  pets: string;
  limits?: string;
}

/** Serves a sandbox until it is interrupted. Its addresses and a key come on stdout as variables, ready for `eval` or an .env file. */
export async function sandbox(options: SandboxCommandOptions, terminal: Terminal): Promise<ExitCode> {
  const limits = options.limits === undefined ? undefined : parseLimits(options.limits);
  const { serveSandbox } = await import('../../node/serve.ts');
  const served = await serveSandbox({
    port: portNumber(options.port),
    pets: wholeNumber('pets', options.pets),
    ...(options.db !== undefined && { db: options.db }),
    ...(limits && { plans: { free: limits, pro: limits, business: limits } }),
  });
  const { url, stagingUrl, pageUrl, keys } = served;
  const { signal, stopListening } = interruptSignal(terminal);
  try {
    await writeResult(
      terminal.stdout,
      options.json ? `${jsonText({ url, stagingUrl, pageUrl, keys })}\n` : variables({ url, stagingUrl, key: keys.pro }),
    );
    tell(terminal, `The sandbox is at ${pageUrl}; Ctrl-C ends it`);
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  } finally {
    stopListening();
    await served.close();
  }
  return EXIT.done;
}

function variables({ url, stagingUrl, key }: { url: string; stagingUrl: string; key: string }): string {
  return `PETSTORE_BASE_URL=${url}\nPETSTORE_STAGING_BASE_URL=${stagingUrl}\nPETSTORE_API_KEY=${key}\n`;
}

function wholeNumber(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new UsageError(`Cannot use --${option} ${text}: it must be a whole number`);
}

function portNumber(text: string): number {
  const port = wholeNumber('port', text);
  if (port <= 65_535) return port;
  throw new UsageError(`Cannot use --port ${text}: it must be at most 65535, or 0 for a free one`);
}

/** `300/10000`: requests a minute and a day; `300`: a minute only. */
function parseLimits(text: string): PlanLimits {
  const limits = parsePlanLimits(text);
  if (limits === undefined) throw new UsageError(`Cannot use --limits ${text}: it must be requests a minute and a day, such as 60/1000`);
  return limits;
}
