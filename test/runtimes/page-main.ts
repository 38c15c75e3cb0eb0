// Runs in a browser's page, which calls it by its global name.
import { runSuite } from './suite.ts';

Object.assign(globalThis, { runSuite });
