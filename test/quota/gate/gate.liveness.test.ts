import fc from 'fast-check';
import { TimeoutError } from 'petstore-inventory';
import { expect, test, vi } from 'vitest';
import type { Call } from '../../../src/call.ts';
import { makeListCall } from '../../support/call.ts';
import { FUZZ } from '../../support/fuzz.ts';
import { holdTime } from '../../support/time.ts';
import { makeGate, pass, Visitors } from './gate-kit.ts';

holdTime();

const limits = fc.constantFrom(1, 2, 5, 60);
const plans = fc.oneof(
  fc.constantFrom(undefined, 'unlimited' as const),
  limits.map((requestsPerMinute) => ({ requestsPerMinute })),
);
const rateLimits = fc.record({ limit: limits, remaining: fc.nat({ max: 60 }), resetInMs: fc.nat({ max: 90_000 }) });
const answers = fc.record({
  status: fc.constantFrom(200, 200, 200, 404, 429, 429, 500, 503),
  retryAfterMs: fc.constantFrom(undefined, 0, 900, 30_000),
  rateLimit: fc.option(rateLimits, { nil: undefined }),
});

/** A gate, the calls that ask it for permits, and what may happen to them. */
class Scene {
  readonly visitors: Visitors;
  readonly calls: Call[] = [];

  constructor(plan: Parameters<typeof makeGate>[0]) {
    this.visitors = new Visitors(makeGate(plan));
  }

  ask(count: number, maxWaitMs: number): void {
    for (let n = 0; n < count; n++) this.calls.push(this.visitors.ask('call', makeListCall({ maxWaitMs })));
  }

  answer({ status, retryAfterMs, rateLimit }: typeof answers extends fc.Arbitrary<infer Answer> ? Answer : never): void {
    const nowMs = Date.now();
    const { resetInMs = 0, ...told } = rateLimit ?? {};
    const resetAtMs = rateLimit && nowMs + resetInMs;
    const answer = {
      status,
      receivedAtMs: nowMs,
      dateMs: nowMs,
      ...told,
      ...(resetAtMs !== undefined && { resetAtMs }),
      ...(retryAfterMs !== undefined && { retryAfterMs }),
    };
    if (this.visitors.permits.length > 0) this.visitors.answer(answer);
  }

  /** No call waits, or a timer is set, or an answer is still to come, so that every waiting call is looked at again. */
  get isLive(): boolean {
    const { log, permits } = this.visitors;
    return log.length === this.calls.length || vi.getTimerCount() > 0 || permits.length > 0;
  }
}

const events: fc.Arbitrary<(scene: Scene) => unknown> = fc.oneof(
  fc.tuple(fc.integer({ min: 1, max: 12 }), fc.constantFrom(1_000, 1e9)).map(
    ([count, maxWaitMs]) =>
      (scene: Scene) =>
        scene.ask(count, maxWaitMs),
  ),
  answers.map((answer) => (scene: Scene) => scene.answer(answer)),
  fc.constant((scene: Scene) => scene.visitors.lose(new TimeoutError('x'))),
  fc.constant((scene: Scene) => scene.visitors.lose(undefined)),
  fc.constant((scene: Scene) => scene.visitors.permits.shift()?.cancel()),
  fc.nat().map((index) => (scene: Scene) => scene.calls[index % Math.max(1, scene.calls.length)]?.abort('gone')),
  fc.constantFrom(1, 20, 700, 5_000, 61_000).map((ms) => () => pass(ms)),
);

test('Gate looks again at waiting calls: after every event no call waits, or a timer is set, or an answer is still to come', async () => {
  await fc.assert(
    fc.asyncProperty(plans, fc.array(events, { maxLength: 40 }), async (plan, story) => {
      const scene = new Scene({ plan });
      for (const happen of story) {
        await happen(scene);
        await pass(0);
        expect(scene.isLive).toBe(true);
      }
      vi.clearAllTimers();
    }),
    FUZZ,
  );
});
