/** Throws unless a condition holds. */
export function ok(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(message);
}

/** Throws unless two values are the same, written as text. */
export function equal(actual: unknown, expected: unknown): void {
  const [found, wanted] = [show(actual), show(expected)];
  ok(found === wanted, `${found} is not ${wanted}`);
}

/** What a promise rejects with; undefined where it resolves. */
export function failureOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    (error: unknown) => error,
  );
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part)) ?? String(value);
}
