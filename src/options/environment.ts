declare const process: { env: Record<string, string | undefined> } | undefined;

/**
 * Reads one environment variable; an empty one counts as unset.
 * Undefined in runtimes that have no variables or forbid reading them.
 */
export function readVariable(name: string): string | undefined {
  try {
    return process?.env[name] || undefined;
  } catch {
    return undefined;
  }
}

/** Whether this is a real browser, where every visitor could read the key; jsdom and happy-dom only look like one. */
export function isBrowser(): boolean {
  const agent: unknown = globalThis.navigator?.userAgent;
  return typeof agent === 'string' && agent.startsWith('Mozilla/') && !/jsdom|HappyDOM/i.test(agent);
}
