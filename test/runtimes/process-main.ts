// Runs in Node, Bun and Deno: the address of the service and the runtime's name come as arguments, the results go out as one line.
import { PetStoreClient } from 'petstore-inventory';
import { runSuite } from './suite.ts';

declare const process: { argv: string[] };

const [origin = '', runtime = ''] = process.argv.slice(2);
console.log(`results ${JSON.stringify(await runSuite({ origin, runtime, isBrowser: false }))}`);

// Nothing but this call's wait keeps the process alive; when it is over, nothing may.
const waiting = new PetStoreClient({ baseUrl: `${origin}/refusing/${runtime}-exit/v1`, apiKey: 'runtime-key', plan: 'business' });
waiting.listInventory().then((items) => console.log(`waited ${items.length}`));
