/**
 * Kills `petstore sync` or `petstore undo` many times and judges the stock of every job:
 *
 *     npm exec -c 'node --experimental-transform-types --no-warnings test/cli/support/crash.ts 200 1 undo'
 *
 * The first number is how many processes are killed, the second one the seed.
 */
import { crashRuns } from './crash-runs.ts';
import { randomFrom } from './random-from.ts';

const [kills = '200', seed = '1', command] = process.argv.slice(2);
const result = await crashRuns(command === 'undo' ? 'undo' : 'sync', Number(kills), randomFrom(Number(seed)));
console.log(result);
process.exitCode = result.faults.length > 0 ? 1 : 0;
