import { isPetStoreError } from '../errors.ts';

const ADVICE = {
  authentication: 'check PETSTORE_API_KEY',
  'rate-limit': 'try again then; `petstore quota` shows what is left',
  connection: 'check the network and PETSTORE_BASE_URL',
  timeout: 'try again later',
  server: 'try again later',
  'invalid-response': 'check that PETSTORE_BASE_URL is the address of the service',
  'not-found': '`petstore list` shows the pets that there are',
} as const;

/** One line: what could not be done, why, and what to do about it. */
export function explainError(error: unknown): string {
  const message = oneLine(error instanceof Error ? error.message : String(error));
  if (!isPetStoreError(error)) return message;
  if (error.kind === 'configuration')
    return `${message}${error.option === 'apiKey' || error.option === 'baseUrl' ? '; or try --sandbox, which needs neither' : ''}`;
  const advice = Object.entries(ADVICE).find(([kind]) => kind === error.kind)?.[1];
  return advice === undefined ? message : `${message}; ${advice}`;
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
