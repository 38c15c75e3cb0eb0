import { existsSync } from 'node:fs';

const PROGRAMS = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

/** Headless, and without requests to anything but the page's own server. */
export const CHROMIUM_FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The program that `CHROMIUM_PATH` names, or the system's; undefined where there is none. */
export function findChromium(): string | undefined {
  return [process.env.CHROMIUM_PATH ?? '', ...PROGRAMS].find((path) => path !== '' && existsSync(path));
}
