import { drawing } from '../worlds/random.ts';
import type { Owner, VirtualTime } from '../worlds/virtual-time.ts';
import type { NetworkSettings } from './story.ts';

/** What becomes of one exchange on its way. */
const FATES = ['refused', 'lost before', 'lost after', 'stalled before', 'stalled after', 'cut', 'stalled body'] as const;
type Fate = (typeof FATES)[number] | 'carried';

/** One request as the network saw it. */
export interface Sent {
  readonly number: number;
  readonly process: string;
  readonly life: number;
  readonly atMs: number;
  readonly method: string;
  readonly path: string;
  readonly petId: number | undefined;
  readonly quantity: number | undefined;
  readonly fate: Fate;
  /** When it reached the service, and with which status its headers reached the process. */
  arrivedAtMs: number | undefined;
  told: number | undefined;
  /** Its Retry-After is longer than a minute: that of a day. */
  isOfDay: boolean;
  /** When its process had its whole answer, or gave it up. */
  endedAtMs: number | undefined;
  /** It left before a wait was over that its process had been told. */
  isEarly: boolean;
}

/** From when until when a process of the fleet knew that the key is closed. */
export interface Closure {
  readonly process: string;
  readonly toldAtMs: number;
  readonly untilMs: number;
}

interface Sender {
  readonly owner: Owner;
  readonly name: string;
  readonly life: number;
  readonly step: (what: string) => Promise<void>;
}

/** An answer on its way to a process. */
interface Carried {
  readonly fate: Fate;
  readonly signal: AbortSignal | undefined;
  readonly message: Owner;
  readonly sender: Sender;
  /** Called when its body was read to the end, broke off, or was given up. */
  readonly onEnd: () => void;
}

interface NetworkParts {
  readonly time: VirtualTime;
  readonly service: typeof globalThis.fetch;
  readonly settings: NetworkSettings;
  readonly startMs: number;
  readonly tell: (line: string) => void;
}

/** A monotonic clock may run that much too fast: a wait that ends earlier by it was not cut short. */
const DRIFT = 0.001;

/** Carries requests between processes and the service, some of them badly; answers may overtake each other. */
export class Network {
  readonly sent: Sent[] = [];
  readonly closures: Closure[] = [];
  /** From when on nothing is lost any more. */
  calmSinceMs = Number.POSITIVE_INFINITY;
  /** The most requests of each process that had no answer at one instant. */
  readonly mostAtOnce = new Map<string, number>();
  readonly #parts: NetworkParts;

  constructor(parts: NetworkParts) {
    this.#parts = parts;
  }

  get isCalm(): boolean {
    return this.#parts.time.nowMs >= this.calmSinceMs;
  }

  /** The fetch of one process. */
  fetchFor(sender: Sender): typeof globalThis.fetch {
    let closedUntilMs = Number.NEGATIVE_INFINITY;
    let atOnce = 0;
    const count = (more: number) => {
      atOnce += more;
      if (sender.owner.isAlive && !this.isCalm) this.mostAtOnce.set(sender.name, Math.max(atOnce, this.mostAtOnce.get(sender.name) ?? 0));
    };
    return async (input, init = {}) => {
      await sender.step('send');
      const sent = this.#note(String(input), init, sender);
      sent.isEarly = this.#parts.time.nowMs < closedUntilMs - 1;
      const travel = this.#travel(sent, { url: String(input), init, sender });
      count(1);
      let uncount = () => {
        count(-1);
        uncount = () => {};
      };
      init.signal?.addEventListener('abort', () => uncount(), { once: true });
      const answer = await orAbort(travel, init.signal ?? undefined)
        .catch((failure) => {
          sent.endedAtMs = this.#parts.time.nowMs;
          throw failure;
        })
        .finally(() => uncount());
      const untilMs = closedUntil(answer, sent.arrivedAtMs ?? 0);
      if (Number.isFinite(untilMs)) this.closures.push({ process: sender.name, toldAtMs: this.#parts.time.nowMs, untilMs });
      closedUntilMs = Math.max(closedUntilMs, untilMs);
      await sender.step('receive');
      return answer;
    };
  }

  #note(url: string, init: RequestInit, { name, life }: Sender): Sent {
    const number = this.sent.length + 1;
    const path = new URL(url).pathname.replace('/v1', '');
    const petId = /^\/inventory\/(\d+)$/.exec(path)?.[1];
    const quantity: unknown = typeof init.body === 'string' ? JSON.parse(init.body).quantity : undefined;
    const sent: Sent = {
      number,
      process: name,
      life,
      atMs: this.#parts.time.nowMs,
      method: init.method ?? 'GET',
      path,
      petId: petId === undefined ? undefined : Number(petId),
      quantity: typeof quantity === 'number' ? quantity : undefined,
      fate: this.#fateOf(number),
      arrivedAtMs: undefined,
      told: undefined,
      isOfDay: false,
      endedAtMs: undefined,
      isEarly: false,
    };
    this.sent.push(sent);
    this.#parts.tell(`${name} sends #${number} ${sent.method} ${path} ${sent.quantity ?? ''} (${sent.fate})`);
    return sent;
  }

  #fateOf(number: number): Fate {
    const { settings, time, startMs } = this.#parts;
    if (this.isCalm) return 'carried';
    const draw = drawing(settings.seed + number);
    const sinceMs = time.nowMs - startMs;
    if (settings.cuts.some(({ fromMs, toMs }) => sinceMs >= fromMs && sinceMs < toMs))
      return draw.of('refused', 'stalled before', 'lost before');
    return draw.chance(settings.losses) ? draw.of(...FATES) : 'carried';
  }

  async #travel(sent: Sent, { url, init, sender }: { url: string; init: RequestInit; sender: Sender }): Promise<Response> {
    const { time, service, settings, tell } = this.#parts;
    const message: Owner = { id: 1_000_000 + sent.number, isAlive: true, rate: 1 };
    const draw = drawing(settings.seed * 7 + sent.number);
    const latencyMs = () =>
      this.isCalm ? 1 : draw.log(Math.max(1, settings.latencyMs / 4), settings.latencyMs * (draw.chance(settings.tail) ? 40 : 2));
    const { fate } = sent;
    if (fate === 'refused') throw networkError('ECONNREFUSED');
    await time.wait(latencyMs(), message);
    if (fate === 'stalled before') return never();
    if (fate === 'lost before') throw networkError('ECONNRESET');
    sent.arrivedAtMs = time.nowMs;
    const answer = await service(url, { method: sent.method, headers: init.headers ?? {}, body: init.body ?? null, redirect: 'manual' });
    const bytes = new Uint8Array(await answer.arrayBuffer());
    tell(`#${sent.number} answered ${answer.status}`);
    await time.wait(latencyMs(), message);
    if (fate === 'stalled after' || !sender.owner.isAlive) return never();
    if (fate === 'lost after') throw networkError('ECONNRESET');
    if (init.signal?.aborted !== true) {
      sent.told = answer.status;
      sent.isOfDay = Number(answer.headers.get('retry-after') ?? 0) > 60;
      tell(`${sender.name} receives #${sent.number} ${answer.status}`);
    }
    const onEnd = () => {
      sent.endedAtMs = time.nowMs;
    };
    return new Response(this.#body(bytes, { fate, signal: init.signal ?? undefined, message, sender, onEnd }), answer);
  }

  /** The body in two pieces, which come one after the other. */
  #body(bytes: Uint8Array<ArrayBuffer>, { fate, signal, message, sender, onEnd }: Carried): ReadableStream<Uint8Array<ArrayBuffer>> {
    const { time } = this.#parts;
    const middle = Math.floor(bytes.length / 2);
    const pieces = [bytes.slice(0, middle), bytes.slice(middle)];
    let end = (_reason: unknown) => {};
    const onAbort = () => {
      onEnd();
      end(signal?.reason);
    };
    const finish = () => {
      onEnd();
      signal?.removeEventListener('abort', onAbort);
    };
    return new ReadableStream(
      {
        start: (controller) => {
          end = (reason) => controller.error(reason);
          signal?.addEventListener('abort', onAbort, { once: true });
        },
        pull: async (controller) => {
          await time.wait(1, message);
          if (!sender.owner.isAlive || (fate === 'stalled body' && pieces.length === 1)) await never();
          if (signal?.aborted) return;
          const piece = pieces.shift();
          if (piece && !(fate === 'cut' && pieces.length === 0)) return controller.enqueue(piece);
          finish();
          if (piece) controller.error(new TypeError('terminated', { cause: networkError('UND_ERR_SOCKET') }));
          else controller.close();
        },
        cancel: finish,
      },
      { highWaterMark: 0 },
    );
  }
}

/** Until when an answer closes the key, at least: its seconds count from when the service refused. */
function closedUntil(answer: Response, arrivedAtMs: number): number {
  const told = answer.headers.get('retry-after');
  if (told === null || (answer.status !== 429 && answer.status !== 503)) return Number.NEGATIVE_INFINITY;
  return /^[\d.]+$/.test(told) ? arrivedAtMs + Number(told) * 1_000 * (1 - DRIFT) : Date.parse(told);
}

function networkError(code: string): TypeError {
  return new TypeError('fetch failed', { cause: Object.assign(new Error(code), { code }) });
}

function never(): Promise<never> {
  return new Promise(() => {});
}

/** As a real fetch: the abort ends it at once, whatever becomes of the request. */
function orAbort(answer: Promise<Response>, signal: AbortSignal | undefined): Promise<Response> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal?.reason);
    if (signal?.aborted) abort();
    signal?.addEventListener('abort', abort, { once: true });
    answer.then(resolve, reject).finally(() => signal?.removeEventListener('abort', abort));
  });
}
