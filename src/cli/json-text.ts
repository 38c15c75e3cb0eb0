import { CONTROLS } from '../redactor.ts';

/** `JSON.stringify` that writes a bigint as a number with all its digits, and escapes every control character. */
export function jsonText(value: unknown): string {
  // JSON.stringify leaves some characters that a terminal may obey, or that turn text around. They can only be in strings.
  return textOf(value).replace(CONTROLS, (run) =>
    Array.from(run, (each) => `\\u${each.charCodeAt(0).toString(16).padStart(4, '0')}`).join(''),
  );
}

function textOf(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (Array.isArray(value)) return `[${value.map(textOf).join(',')}]`;
  if (typeof value !== 'object' || value === null || value instanceof Date) return JSON.stringify(value);
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${textOf(field)}`).join(',')}}`;
}
