import type { Break } from './program.ts';

/** Faults in the parts of a client, each found by the stories of the first 1,000 seeds: `npm run simulate -- --breaks`. */
export const BREAKS: Readonly<Record<string, Break>> = {
  'client: a refusal hides that an earlier attempt may have arrived': {
    path: 'call.ts',
    before: "if (this.#before === 'unknown') return;",
    after: '',
  },
  'gate: a returned permit still counts as in flight': {
    path: 'quota/gate/permit.ts',
    before: 'if (this.#inFlight?.delete(permit)) permit.limits.leave();',
    after: 'this.#inFlight?.delete(permit);',
  },
  'gate: a shorter Retry-After opens a key that a longer one closed': {
    path: 'quota/ledger/cooldown.ts',
    before: 'this.untilMs = Math.max(this.untilMs, instantMs);',
    after: 'this.untilMs = instantMs;',
  },
  'retry: an abort does not end a backoff': {
    path: 'retry/backoff.ts',
    before: 'await untilAborted(promise, call.signal);',
    after: 'await promise;',
  },
  'order: a waiting update that is aborted starts the next one': {
    path: 'order/pet-line.ts',
    before: 'if (this.#current === turn) this.#beginNext(undefined);',
    after: 'if (this.#first || this.#current === turn) this.#beginNext(undefined);',
  },
  'view: a list undoes an update that was confirmed after the list was sent': {
    path: 'view/held-stock.ts',
    before: 'for (const item of this.#since?.values() ?? []) next = next.with(item);',
    after: '',
  },
  'sync: a resumed adjustment is planned anew': {
    path: 'sync/stock-job.ts',
    before: 'else if (this.#doubtful.has(row)) this.#resume(row, quantity);',
    after: '',
  },
  'journal: the record of an update is not flushed before its request': {
    path: 'sync/job-log.ts',
    before: 'this.note(record);\n    await this.flush();',
    after: 'this.note(record);',
  },
  'file: a record is appended to a torn line': {
    path: 'node/file-journal.ts',
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source.
    before: 'this.#endsInLine ? text : `\\n${text}`',
    after: 'text',
  },
  'leases: every process sends a probe': {
    path: 'node/quota-record.ts',
    before: "if (record.probeUntilMs > nowMs) return refuse(exchange, 'probe', PROBE_POLL_MS);",
    after: '',
  },
  'client: a call settles twice': {
    path: 'pipeline.ts',
    before: "    call.emit('settled',",
    after: "    for (const _ of [1, 2]) call.emit('settled',",
  },
  'leases: the other processes are not told of a closure': {
    path: 'quota/lease/lease-client.ts',
    before: 'closedForMs: Math.max(0, Math.ceil(this.#closedUntilMs - nowMs)),',
    after: 'closedForMs: 0,',
  },
  'leases: the store forgets a closure': {
    path: 'node/quota-record.ts',
    before: 'record.closedUntilMs = Math.max(record.closedUntilMs, nowMs + request.closedForMs);',
    after: '',
  },
  'file: a journal stays open': {
    path: 'node/file-journal.ts',
    before: 'await file?.close();',
    after: '',
  },
  'view: a pet is not found': {
    path: 'view/stock-view.ts',
    before: 'return this.#find(pet);',
    after: 'return undefined;',
  },
  'transport: an attempt has no time limit': {
    path: 'transport/exchange.ts',
    before: 'startTimeLimit(this.#call.options.attemptTimeoutMs, ',
    after: 'startTimeLimit(1e9, ',
  },
};
