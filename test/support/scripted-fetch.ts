/** One request as a fetch got it. */
export interface SeenRequest {
  url: string;
  method: string;
  headers: Record<string, string>;
  body: unknown;
  signal: AbortSignal;
  redirect: string | undefined;
}

/** Gives an answer, or throws what a fetch would. */
export type Answering = (request: SeenRequest) => Response | Promise<Response>;

/** A fetch that gives these answers one after the other, then repeats the last one; it notes the requests. */
export function scriptedFetch(...answers: Answering[]): { fetch: typeof globalThis.fetch; seen: SeenRequest[] } {
  const seen: SeenRequest[] = [];
  const fetch = async (input: string | URL | Request, init: RequestInit = {}) => {
    const request = {
      url: String(input),
      method: init.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init.headers)),
      body: init.body,
      signal: init.signal ?? new AbortController().signal,
      redirect: init.redirect,
    };
    seen.push(request);
    const answer = answers[Math.min(seen.length, answers.length) - 1];
    if (!answer) throw new Error('the script has no answers');
    return answer(request);
  };
  return { fetch, seen };
}

/** Never answers; rejects as a fetch does when its signal aborts. */
export function hang({ signal }: SeenRequest): Promise<Response> {
  return new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}

/** Never answers and ignores an abort. */
export function hangDeaf(): Promise<Response> {
  return new Promise(() => {});
}

/** A fetch that is written without types, as far as the client can tell. */
export function untyped(give: () => unknown): typeof globalThis.fetch {
  return Reflect.get({ give }, String('give'));
}
