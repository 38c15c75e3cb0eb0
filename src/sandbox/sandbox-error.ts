/** What the sandbox throws when it was set up wrongly; the message says what to do. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError';
}

/** Shows a foreign value in a message: quoted if text, by its kind if it is more than a few words. */
export function show(value: unknown): string {
  if (typeof value === 'string') return value.length > 60 ? `"${value.slice(0, 60)}..."` : `"${value}"`;
  if (Array.isArray(value)) return 'that list';
  if (typeof value === 'object' && value !== null) return 'that object';
  return typeof value === 'function' ? 'that function' : String(value);
}
