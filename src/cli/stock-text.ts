import { withoutControls } from '../redactor.ts';

/** A status at the terminal. The service chooses its text, and a control character in it could change the terminal. */
export function statusText(status: string): string {
  return withoutControls(status, '�');
}

/** The stock of a pet: `7 (sold)`. */
export function stockText({ quantity, status }: { quantity: number; status: string }): string {
  return `${quantity} (${statusText(status)})`;
}
