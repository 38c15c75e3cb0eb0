import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { fileJournal } from '../../node/file-journal.ts';
import { estimateMs, fitsToday } from '../../sync/estimate.ts';
import { isAbort } from '../../sync/failure.ts';
import { type ReviewedChange, type SyncOptions, type SyncReport, syncInventory, type WantedEntry } from '../../sync/index.ts';
import type { Client } from '../connect.ts';
import { FinishingClient } from '../finishing-client.ts';
import { makeFolder } from '../state.ts';
import { UsageError } from '../usage-error.ts';

/** Most plans that are kept; the oldest is dropped first. */
const MOST_PLANS = 100;

export interface PlanLimits {
  maxChanges: SyncOptions['maxChanges'];
  allowNegative: boolean;
  /** The folder for the journals, one for each applied plan. */
  journals: string;
  /** Whether they outlive the server, so that a plan can be undone. */
  areKept: boolean;
  now: () => number;
}

/** A plan in the form that the agent gets. */
export interface ShownPlan {
  planId: string;
  changes: ReviewedChange[];
  unchanged: number;
  missing: SyncReport['missing'];
  failed: SyncReport['failed'];
  requests: number;
  estimatedMs: number;
  fitsToday: boolean | undefined;
}

interface KeptPlan {
  wanted: readonly WantedEntry[];
  /** The changes that were shown, by pet. */
  changes: ReadonlyMap<string, ReviewedChange>;
  journal: string;
  /** Gives undefined if whoever began the run aborted it before the journal was read. */
  running: Promise<SyncReport | undefined> | undefined;
}

type RunOptions = Pick<SyncOptions, 'signal' | 'onProgress'>;

/** Makes plans, and applies only those that it has made. */
export class Plans {
  readonly #client: Client;
  /** Lets the updates under way finish if the call that applies a plan is cancelled, so that the journal knows how they ended. */
  readonly #finishing: FinishingClient;
  readonly #limits: PlanLimits;
  readonly #kept = new Map<string, KeptPlan>();
  // Settles when the latest run has ended.
  #lastRun: Promise<unknown> = Promise.resolve();

  constructor(client: Client, limits: PlanLimits) {
    this.#client = client;
    this.#finishing = new FinishingClient(client);
    this.#limits = limits;
  }

  /**
   * Makes a plan, at the cost of one list request.
   *
   * @throws UsageError, InvalidArgumentError for changes that are not allowed; what refused the list
   */
  async make(wanted: readonly WantedEntry[], { signal }: RunOptions): Promise<ShownPlan> {
    const { maxChanges, now } = this.#limits;
    const changes: ReviewedChange[] = [];
    const review = (reviewed: Iterable<ReviewedChange>) => {
      for (const change of reviewed) changes.push(change);
    };
    const report = await syncInventory(this.#client, wanted, { dryRun: true, maxChanges, review, signal });
    signal?.throwIfAborted();
    if (report.stopped !== undefined) throw report.error;
    this.#refuseNegative(changes);
    const { quota } = this.#client;
    const requests = changes.length + 1;
    return {
      planId: this.#keep(wanted, changes),
      changes,
      unchanged: report.unchanged,
      missing: report.missing,
      failed: report.failed,
      requests,
      estimatedMs: estimateMs(requests, quota, now()),
      fitsToday: fitsToday(requests, quota),
    };
  }

  /**
   * Applies a plan. An interrupted plan continues; a plan that is already applied sends nothing. `journal` is the file from which the plan can be
   * undone.
   *
   * @throws UsageError
   */
  async apply(planId: string, options: RunOptions): Promise<{ report: SyncReport; journal: string | undefined }> {
    const plan = this.#kept.get(planId);
    if (!plan) {
      const why = `it is not among the last ${MOST_PLANS} plans that were shown; make a new one with plan_updates`;
      throw new UsageError(`Cannot apply the plan ${JSON.stringify(planId.slice(0, 40))}: ${why}`);
    }
    const isJoined = plan.running !== undefined;
    plan.running ??= this.#run(plan, options).finally(() => {
      plan.running = undefined;
    });
    const report = await plan.running;
    // Whoever began the run may have aborted it.
    if (isJoined && (!report || report.stopped === 'abort') && !options.signal?.aborted) return this.apply(planId, options);
    if (!report) throw options.signal?.reason;
    return { report, journal: this.#limits.areKept ? plan.journal : undefined };
  }

  /** Resolves when the runs so far have ended, and closed their journals. */
  async settled(): Promise<void> {
    await this.#lastRun;
  }

  /** Runs follow each other: two that list before either updates would both find the stock as it was shown. */
  #run(plan: KeptPlan, options: RunOptions): Promise<SyncReport | undefined> {
    const begun = this.#lastRun.then(() => this.#perform(plan, options));
    const run = begun.catch((error: unknown) => {
      if (isAbort(error, options.signal)) return undefined;
      throw error;
    });
    this.#lastRun = run.catch(() => {});
    return run;
  }

  async #perform({ wanted, changes, journal }: KeptPlan, options: RunOptions): Promise<SyncReport> {
    makeFolder(this.#limits.journals);
    return syncInventory(this.#finishing, wanted, {
      ...options,
      maxChanges: this.#limits.maxChanges,
      journal: fileJournal(journal),
      review: (reviewed) => refuseOthers(reviewed, changes),
    });
  }

  #refuseNegative(changes: readonly ReviewedChange[]): void {
    const negative = this.#limits.allowNegative ? undefined : changes.find(({ to }) => to < 0);
    if (!negative) return;
    const { petId, from, to } = negative;
    throw new UsageError(
      `Cannot plan: pet ${petId} would go from ${from} to ${to}; a stock below zero needs --allow-negative at the start`,
    );
  }

  #keep(wanted: readonly WantedEntry[], changes: readonly ReviewedChange[]): string {
    const planId = randomUUID().slice(0, 8);
    const day = new Date(this.#limits.now()).toISOString().slice(0, 10);
    const journal = join(this.#limits.journals, `mcp-${day}-${planId}.journal`);
    const shown = new Map(changes.map((change) => [String(change.petId), change]));
    this.#kept.set(planId, { wanted, changes: shown, journal, running: undefined });
    const [oldest] = this.#kept.keys();
    if (oldest !== undefined && this.#kept.size > MOST_PLANS) this.#kept.delete(oldest);
    return planId;
  }
}

/** @throws UsageError for a change that was not shown */
function refuseOthers(reviewed: Iterable<ReviewedChange>, shown: ReadonlyMap<string, ReviewedChange>): void {
  for (const { petId, from, to } of reviewed) {
    const change = shown.get(String(petId));
    if (change && change.from === from && change.to === to) continue;
    const was = change ? `the plan shows ${change.from} to ${change.to}` : 'the plan does not show it';
    throw new UsageError(`Cannot apply the plan: pet ${petId} would now go from ${from} to ${to}, and ${was}; make a new plan`);
  }
}
