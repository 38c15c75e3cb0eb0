import type { PlanLimits } from '../contract/plans.ts';
import { words } from './check-options.ts';
import type { Environment } from './environments.ts';
import { Meter, type MeterRules } from './meter.ts';
import { SandboxError } from './sandbox-error.ts';

/** A valid key. */
export interface KnownKey {
  readonly key: string;
  readonly plan: string;
}

/** The keys of a sandbox, and a meter for each environment and key, so that no key affects another's count. */
export class Keyring {
  readonly #plans: ReadonlyMap<string, PlanLimits>;
  readonly #rules: MeterRules;
  readonly #known = new Map<string, KnownKey>();
  readonly #meters = { production: new Map<string, Meter>(), staging: new Map<string, Meter>() };
  #issued = 0;

  constructor(plans: Readonly<Record<string, PlanLimits>>, rules: MeterRules) {
    this.#plans = new Map(Object.entries(plans));
    this.#rules = rules;
  }

  /** Makes a key valid; without `key`, a new one is made up. @throws {SandboxError} */
  add(plan: string, key: string = this.#inventKey(plan)): string {
    if (!this.#plans.has(plan)) throw new SandboxError(this.#unknownPlan(key));
    if (!/^[!-~]+$/.test(key)) throw new SandboxError('Cannot add that key of `keys` or `addKey`: it must be visible ASCII without spaces');
    if (this.#known.has(key)) throw new SandboxError('Cannot add that key: the sandbox has it already');
    this.#known.set(key, { key, plan });
    return key;
  }

  /** Makes a key invalid at once; returns whether it was valid. If it is added again, it starts with a full quota. */
  revoke(key: string): boolean {
    for (const meters of Object.values(this.#meters)) meters.delete(key);
    return this.#known.delete(key);
  }

  /** Finds the key of an `Authorization: Bearer` header (specification, Authentication; RFC 6750 section 2.1). */
  identify(authorization: string | undefined): KnownKey | undefined {
    const token = /^bearer +([!-~]+) *$/i.exec(authorization ?? '')?.[1];
    return token === undefined ? undefined : this.#known.get(token);
  }

  /** The meter of a key in an environment. */
  meter(environment: Environment, { key, plan }: KnownKey): Meter {
    const meters = this.#meters[environment];
    const meter = meters.get(key) ?? this.meterOf(plan);
    meters.set(key, meter);
    return meter;
  }

  /** A new meter for a plan, such as for a request without a valid key. */
  meterOf(plan: string): Meter {
    return new Meter(this.#plans.get(plan) ?? { requestsPerMinute: 1 }, this.#rules);
  }

  /** Gives every key its full quota, and ends bans. */
  refill(): void {
    for (const meters of Object.values(this.#meters)) meters.clear();
  }

  /** The names of all plans. */
  plans(): string[] {
    return [...this.#plans.keys()];
  }

  /** All valid keys, in the order in which they were added. */
  list(): KnownKey[] {
    return [...this.#known.values()];
  }

  /** Does not show the plan: it may be a key, as plan and key are easily swapped. */
  #unknownPlan(key: string): string {
    if (this.#plans.has(key)) {
      return 'Cannot add a key: plan and key are swapped; `keys` maps each key to its plan, and `addKey` takes the plan first';
    }
    return `Cannot add a key for that plan: the plans are ${words(this.plans())}, and \`keys\` maps each key to its plan`;
  }

  #inventKey(plan: string): string {
    this.#issued += 1;
    return `psk_sandbox_${plan.replace(/[^!-~]/g, '_')}_extra_${this.#issued}`;
  }
}
