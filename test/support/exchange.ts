import type { Http, WireRequest } from '../../src/transport/http.ts';
import type { Answering, SeenRequest } from './scripted-fetch.ts';

/** The wire, answered as told; it notes what went out. */
export function wire(answer: Answering): { http: Http; sent: WireRequest[] } {
  const sent: WireRequest[] = [];
  const http: Http = async (request) => {
    sent.push(request);
    const seen: SeenRequest = { ...request, url: request.path, redirect: undefined };
    return answer(seen);
  };
  return { http, sent };
}
