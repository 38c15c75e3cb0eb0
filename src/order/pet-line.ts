import type { Call, Holdup } from '../call.ts';
import { isPromise } from '../clock/is-promise.ts';
import { monotonicMs } from '../clock/monotonic.ts';
import { isRequestBound } from '../clock/request-bound.ts';
import { type End, type News, type Sending, Turn } from './turn.ts';

/**
 * The updates of one pet that are not settled, in the order of their calls. One at a time waits for its permit or is sent. An update that
 * is superseded keeps its place. If it already waits for a permit, it goes on waiting and passes the permit on to the later update, so that
 * updates that keep superseding each other still get sent. The last update is never superseded.
 */
export class PetLine<Permit, Reply> {
  readonly #onEmpty: () => void;
  #first: Turn<Permit, Reply> | undefined;
  #last: Turn<Permit, Reply> | undefined;
  /** The update that waits for its permit or is being sent; undefined only if the line is empty. */
  #current: Turn<Permit, Reply> | undefined;

  /** @param onEmpty called each time the last update has left */
  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty;
  }

  /** Sends an update when its turn comes. An update that is superseded settles as the later one does. */
  async run(call: Call, sending: Sending<Permit, Reply>): Promise<Reply> {
    const turn = this.#join(call, sending);
    try {
      let news: News<Permit, Reply> = this.#current === turn ? { passed: undefined } : await this.#wait(turn);
      while ('passed' in news) {
        const sent = await this.#begin(turn, news.passed);
        if (sent) return sent.reply;
        news = await this.#wait(turn);
      }
      call.supersededBy = news.supersededBy;
      if ('error' in news.end) throw news.end.error;
      return news.end.reply;
    } finally {
      this.#leave(turn);
    }
  }

  /** Removes an update whose incoming request has ended. The updates behind it cannot know the outcome of its request, if one was sent. */
  drop(call: Call): void {
    for (let turn = this.#first; turn; turn = turn.after) if (turn.call === call) return this.#drop(turn);
  }

  #join(call: Call, sending: Sending<Permit, Reply>): Turn<Permit, Reply> {
    const turn = new Turn<Permit, Reply>(call, sending);
    const last = this.#last;
    if (last) {
      last.after = turn;
      turn.before = last;
      last.isSuperseded = last.call.options.latestOnly && !last.isSending;
    }
    this.#first ??= turn;
    this.#last = turn;
    this.#current ??= turn;
    // Only now: the gate may report something, and a listener may make an update of this pet.
    if (last?.isSuperseded) last.unwatch();
    if (call.priority === 'normal') this.#raiseFrom(last);
    return turn;
  }

  /** A low update must not hold up a normal one behind it. Updates ahead of a normal one have already been raised. */
  #raiseFrom(last: Turn<Permit, Reply> | undefined): void {
    for (let earlier = last; earlier?.call.raise(); earlier = earlier.before) earlier.sending.raise();
  }

  /** Lets the gate refuse an update that waits: the one ahead of it may allow a longer wait, or be under way. */
  #watch(turn: Turn<Permit, Reply>): void {
    turn.unwatch = turn.sending.watch((refusal) => turn.refuse(refusal));
    // A listener may have made the update that supersedes it.
    if (turn.isSuperseded) turn.unwatch();
  }

  /** The update that is to be sent in place of another; the other itself if it is not superseded. */
  #successorOf(turn: Turn<Permit, Reply> | undefined): Turn<Permit, Reply> | undefined {
    let next = turn;
    while (next?.isSuperseded) next = next.after;
    return next;
  }

  #holdupOf(turn: Turn<Permit, Reply>): Holdup {
    const current = this.#current;
    // The one that waits for its permit does so for both.
    if (current?.call.holdup && current !== turn && this.#successorOf(current) === turn) return current.call.holdup();
    return { why: `${turn.isSuperseded ? 'a later' : 'an earlier'} update of this pet was not done`, until: undefined };
  }

  async #wait(turn: Turn<Permit, Reply>): Promise<News<Permit, Reply>> {
    const sinceMs = monotonicMs();
    // Created before the wait is reported, since a listener may abort the call.
    const news = turn.wait(() => this.#skipGone());
    turn.call.holdup = () => this.#holdupOf(turn);
    turn.call.emit('wait', (event) => ({ ...event, reason: 'order', ms: 0 }));
    if (!turn.isSuperseded) this.#watch(turn);
    try {
      return await news;
    } finally {
      turn.unwatch();
      turn.call.holdup = undefined;
      turn.call.waitedMs += monotonicMs() - sinceMs;
    }
  }

  /** Gets the permit and sends the update. Undefined if the update was superseded meanwhile: it then waits for the later one's outcome. */
  async #begin(turn: Turn<Permit, Reply>, passed: Permit | undefined): Promise<{ reply: Reply } | undefined> {
    let permit: Permit;
    try {
      const admitted = turn.sending.admit(passed);
      permit = isPromise(admitted) ? await admitted : admitted;
    } catch (failure) {
      // A refusal concerns only the update that got it: the later one may allow a longer wait.
      if (!turn.isSuperseded || turn.call.signal.aborted) throw failure;
      this.#beginNext(undefined);
      return undefined;
    }
    if (!turn.isSuperseded) return { reply: await this.#send(turn, permit) };
    this.#passOn(turn, permit);
    return undefined;
  }

  /** In workerd one request cannot use a promise or timer of another. */
  #passOn(turn: Turn<Permit, Reply>, permit: Permit): void {
    if (isRequestBound()) turn.sending.cancel(permit);
    this.#beginNext(isRequestBound() ? undefined : permit);
  }

  async #send(turn: Turn<Permit, Reply>, permit: Permit): Promise<Reply> {
    const { call } = turn;
    turn.isSending = true;
    try {
      const reply = await turn.sending.send(permit);
      this.#settleFollowers(turn, { reply });
      return reply;
    } catch (failure) {
      if (call.attempts > 0) this.#settleFollowers(turn, { error: call.signal.aborted ? call.signal.reason : failure });
      throw failure;
    }
  }

  #settleFollowers(turn: Turn<Permit, Reply>, end: End<Reply>): void {
    for (let follower = turn.before; follower?.isSuperseded; follower = turn.before) {
      this.#unlink(follower);
      follower.tell({ supersededBy: turn.call.id, end });
    }
  }

  #leave(turn: Turn<Permit, Reply>): void {
    if (!turn.isInLine) return;
    this.#unlink(turn);
    const last = this.#last;
    const isRestored = last?.isSuperseded;
    // The last update ended unsent, so those it superseded are sent after all.
    if (last) last.isSuperseded = false;
    else this.#onEmpty();
    if (this.#current === turn) this.#beginNext(undefined);
    if (last && isRestored && last !== this.#current) this.#watch(last);
  }

  #unlink(turn: Turn<Permit, Reply>): void {
    const { before, after } = turn;
    turn.isInLine = false;
    if (before) before.after = after;
    else this.#first = after;
    if (after) after.before = before;
    else this.#last = before;
  }

  #beginNext(passed: Permit | undefined): void {
    this.#current = this.#successorOf(this.#first);
    this.#current?.tell({ passed });
  }

  /** Called by each waiting call in workerd, since there may be no other call that could do it. */
  #skipGone(): void {
    while (this.#current?.call.isGone) this.#drop(this.#current);
  }

  #drop(turn: Turn<Permit, Reply>): void {
    if (turn.call.attempts > 0) this.#settleFollowers(turn, { error: turn.call.goneReason });
    // Its wait never ends.
    turn.unwatch();
    this.#leave(turn);
  }
}
