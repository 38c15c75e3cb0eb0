// Bytes that one call allocates in this process, with a fetch that answers from memory. Needs --expose-gc and a nursery so large that
// nothing is collected meanwhile: `node --expose-gc --max-semi-space-size=512 --min-semi-space-size=512 allocations.ts NAME`
import { PEERS } from './peers.ts';

const CALLS = 1000;
const BODY =
  '[{"petId":1,"quantity":10,"status":"available"},{"petId":2,"quantity":0,"status":"sold"},{"petId":3,"quantity":7,"status":"pending"}]';

const fetch = async () => {
  const headers = {
    'content-type': 'application/json',
    'x-ratelimit-limit': '1000000',
    'x-ratelimit-remaining': '999999',
    'x-ratelimit-reset': `${Math.ceil(Date.now() / 1000) + 60}`,
  };
  return new Response(BODY, { headers });
};

const list = PEERS[process.argv[2] ?? '']?.({ baseUrl: 'http://localhost:1/v1', fetch });
if (!list) throw new Error(`there is no client named ${process.argv[2]}`);
for (let call = 0; call < CALLS; call++) await list();
globalThis.gc?.();
const before = process.memoryUsage().heapUsed;
for (let call = 0; call < CALLS; call++) await list();
process.send?.({ bytes: (process.memoryUsage().heapUsed - before) / CALLS });
process.disconnect?.();
// Timers of peers that keep the process.
process.exit(0);
