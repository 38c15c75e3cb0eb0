// Runs in Node, Bun and Deno: the address of the service and the runtime's name come as arguments, the results go out as one line.
import { PetStoreClient } from 'petstore-inventory';
import { undiciFetch } from 'petstore-inventory/undici';
import { optionsOf, runSuite } from './suite.ts';

declare const process: { argv: string[] };

const [origin = '', runtime = ''] = process.argv.slice(2);
const place = { origin, runtime, isBrowser: false, fetch: runtime.endsWith('undici') ? undiciFetch() : undefined };
console.log(`results ${JSON.stringify(await runSuite(place))}`);

// Nothing but this call's wait keeps the process alive; when it is over, nothing may.
const waiting = new PetStoreClient(optionsOf({ ...place, runtime: `${runtime}-exit` }, 'refusing'));
waiting.listInventory().then((items) => console.log(`waited ${items.length}`));
