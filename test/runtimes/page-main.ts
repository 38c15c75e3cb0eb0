// Runs in a browser's page: the address of the service and the runtime's name come with the page's own, the results go to its server.
import { equal } from './expect.ts';
import { runTest } from './run-test.ts';
import { runSuite } from './suite.ts';

const unhandled: string[] = [];
addEventListener('unhandledrejection', ({ reason }) => unhandled.push(String(reason)));

const asked = new URLSearchParams(location.search);
const results = await runSuite({ origin: asked.get('origin') ?? '', runtime: asked.get('runtime') ?? '', isBrowser: true });
results.push(await runTest('leaves no rejection unhandled', () => equal(unhandled, [])));
await fetch('/', { method: 'POST', body: JSON.stringify(results) });
