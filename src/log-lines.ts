import { purposeOf } from './call.ts';
import type { ClientEvents, EventLog, Logger } from './events.ts';
import { type Redactor, withoutControls } from './redactor.ts';
import { showThrown } from './thrown.ts';

/** The level of an event's line, and what the line says after `update pet 42`. */
type Sentence<Name extends keyof ClientEvents> = readonly [level: 'debug' | 'info' | 'warn', say: (event: ClientEvents[Name]) => string];

const SENTENCES: { [Name in keyof ClientEvents]: Sentence<Name> } = {
  started: ['debug', () => 'begins'],
  request: ['debug', ({ attempt, method, path }) => `sends attempt ${attempt}: ${method} ${path}`],
  response: ['debug', ({ status, ms }) => `is answered ${status} after ${seconds(ms)}`],
  deprecation: ['warn', (event) => `finds ${deprecationText(event)}`],
  retry: ['warn', ({ delayMs, error }) => `is tried again in ${seconds(delayMs)}: ${error.message}`],
  wait: ['debug', ({ reason, ms }) => `waits ${ms > 0 ? `${seconds(ms)} ` : ''}for ${reason}`],
  queue: ['info', ({ reason, ms, calls }) => `waits ${seconds(ms)} for ${reason}, first of ${calls}`],
  gate: ['info', ({ state, until }) => `finds the gate ${state}${until ? ` until ${until.toISOString()}` : ''}`],
  quotaStore: ['info', ({ state, reason = '' }) => `finds the quota ${state}${reason && `: ${reason}`}`],
  retryBudget: ['warn', ({ state, available }) => `finds the retry budget ${state}, ${available} left`],
  settled: [
    'debug',
    ({ ms, outcome, supersededBy, ...rest }) => {
      const by = supersededBy === undefined ? '' : ` by call ${supersededBy}`;
      return `ends after ${seconds(ms)}: ${outcome}${by}${'error' in rest ? `, ${showThrown(rest.error)}` : ''}`;
    },
  ],
  unknownStatus: ['warn', ({ status }) => `finds the unknown status ${status}`],
};

/** Turns every event into a log line that a person can read and a program can assign to its call. The reason of an abort may hold the key. */
export function createLog(logger: Logger, redactor: Pick<Redactor, 'hide'>): EventLog {
  const write = (level: keyof Logger, text: string) => logger[level](`petstore-inventory: ${withoutControls(redactor.hide(text))}`);
  return {
    tell: (name, event) => {
      const [level, say] = SENTENCES[name];
      return write(level, `${purposeOf(event)} ${say(event)} (call ${event.callId})`);
    },
    warn: (message) => write('warn', message),
  };
}

/** `PATCH /inventory/42 deprecated as of 2026-11-01T00:00:00.000Z, to stop at 2027-06-30T00:00:00.000Z, see https://shop.example/news` */
export function deprecationText({ method, path, deprecatedAt, sunsetAt, link }: ClientEvents['deprecation']): string {
  const since = deprecatedAt ? `deprecated as of ${deprecatedAt.toISOString()}` : 'deprecated';
  const until = sunsetAt ? `, to stop at ${sunsetAt.toISOString()}` : '';
  return `${method} ${path} ${since}${until}${link === undefined ? '' : `, see ${link}`}`;
}

function seconds(ms: number): string {
  return `${ms / 1000} s`;
}
