import type { Send, WireRequest } from '../../src/transport/http.ts';
import type { Answering, SeenRequest } from './scripted-fetch.ts';

/** A fake wire with given answers; it notes the requests. */
export function wire(answer: Answering): { http: Send; sent: WireRequest[] } {
  const sent: WireRequest[] = [];
  const http: Send = async (request) => {
    sent.push(request);
    const seen: SeenRequest = { ...request, url: request.path, signal: request.signal.toAbortSignal(), redirect: undefined };
    return answer(seen);
  };
  return { http, sent };
}
