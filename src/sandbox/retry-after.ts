export const RETRY_AFTER_FORMS = ['seconds', 'date', 'decimal', 'short', 'missing'] as const;
/**
 * The form of a 429's Retry-After: whole seconds, an HTTP-date, or missing (RFC 9110 section 10.2.3). `decimal`: seconds with a fraction,
 * which the RFC does not allow. `short`: whole seconds rounded down, so that the wait may end up to a second before the window opens.
 *
 * @example
 * const retryAfter: RetryAfterForm = 'date';
 * const dated = createSandbox({ retryAfter });
 */
export type RetryAfterForm = (typeof RETRY_AFTER_FORMS)[number];

/** The end of the wait that a header asks for, in seconds or as a date on the clock of the answering node; undefined for anything else. */
export function readRetryAfter(
  value: string | null | undefined,
  { nowMs, aheadMs }: { nowMs: number; aheadMs: number },
): number | undefined {
  if (!value) return undefined;
  if (/^\d+(\.\d+)?$/.test(value)) return nowMs + Math.round(Number(value) * 1_000);
  const dateMs = value.endsWith(' GMT') ? Date.parse(value) : Number.NaN;
  return Number.isNaN(dateMs) ? undefined : dateMs - aheadMs;
}

/** The header's value; undefined for none. A date follows the clock of the answering node, `aheadMs` ahead of the clock that counts. */
export function writeRetryAfter(form: RetryAfterForm, wait: { opensAtMs: number; nowMs: number; aheadMs: number }): string | undefined {
  if (form === 'missing') return undefined;
  if (form === 'date') return new Date(Math.ceil((wait.opensAtMs + wait.aheadMs) / 1_000) * 1_000).toUTCString();
  const waitMs = wait.opensAtMs - wait.nowMs;
  if (form === 'decimal') return String(Math.ceil(waitMs) / 1_000);
  return String(form === 'short' ? Math.floor(waitMs / 1_000) : Math.ceil(waitMs / 1_000));
}
