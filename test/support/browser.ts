import { type Browser, chromium } from 'playwright-core';
import { CHROMIUM_FLAGS, findChromium } from './chromium.ts';

const program = findChromium();

/** In CI tests fail without a browser; for a contributor without one they are skipped with a notice. */
export const isBrowserless = program === undefined && process.env.CI !== 'true';
if (isBrowserless) console.warn('No Chromium found: tests in a browser are skipped; install one or set CHROMIUM_PATH');

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({ executablePath: program ?? 'chromium', args: CHROMIUM_FLAGS });
}
