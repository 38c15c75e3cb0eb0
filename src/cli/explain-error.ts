import { isPetStoreError } from '../errors.ts';
import { askedAddress } from './asked-address.ts';

/** ADDRESS becomes the address that was asked, with the option or variable that gave it. */
const ADVICE = {
  authentication: 'check PETSTORE_API_KEY',
  'rate-limit': 'try again then; `petstore quota` shows what is left',
  connection: 'check the network and the address ADDRESS',
  timeout: 'try again later, or check the address ADDRESS',
  server: 'try again later',
  'invalid-response': 'check that ADDRESS is the address of the service',
  'not-found': '`petstore list` shows the pets that there are',
} as const;

/** One line: what could not be done, why, and what to do about it. */
export function explainError(error: unknown): string {
  const message = oneLine(error instanceof Error ? error.message : String(error));
  if (!isPetStoreError(error)) return message;
  if (error.kind === 'configuration')
    return `${message}${error.option === 'apiKey' || error.option === 'baseUrl' ? '; or try --sandbox, which needs neither' : ''}`;
  const advice = Object.entries(ADVICE).find(([kind]) => kind === error.kind)?.[1];
  return advice === undefined ? message : `${message}; ${advice.replace('ADDRESS', () => askedAddress(error) ?? 'PETSTORE_BASE_URL')}`;
}

/** Everything else that is known of an error, for --verbose. */
export function errorDetails(error: unknown): string {
  if (!(error instanceof Error)) return '';
  const fields = isPetStoreError(error) ? `${JSON.stringify(error.toJSON())}\n` : '';
  const cause = error.cause === undefined ? '' : `\ncaused by ${error.cause instanceof Error ? error.cause.stack : String(error.cause)}`;
  return `${fields}${error.stack ?? ''}${cause}`;
}

function oneLine(text: string): string {
  return text.replace(/\s*\n\s*/g, ' ');
}
