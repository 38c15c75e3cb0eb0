/** What became of one test. */
export interface Result {
  title: string;
  ms: number;
  /** Why the test failed. */
  error?: string;
}

const TEST_TIMEOUT_MS = 15_000;

/** Runs one test, at most for a while. */
export async function runTest(title: string, test: () => void | Promise<void>): Promise<Result> {
  const startedAtMs = Date.now();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done within ${TEST_TIMEOUT_MS} ms`)), TEST_TIMEOUT_MS);
  });
  try {
    await Promise.race([test(), late]);
    return { title, ms: Date.now() - startedAtMs };
  } catch (error) {
    const text = error instanceof Error ? `${error.message}\n${error.stack}` : String(error);
    return { title, ms: Date.now() - startedAtMs, error: text };
  } finally {
    clearTimeout(timer);
  }
}
