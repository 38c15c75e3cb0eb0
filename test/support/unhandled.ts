import { afterEach, beforeEach, type Mock, vi } from 'vitest';

/** Notes the unhandled rejections in every test of a file. */
export function watchUnhandled(): Mock<(reason: unknown) => void> {
  const unhandled = vi.fn<(reason: unknown) => void>();
  beforeEach(() => {
    unhandled.mockClear();
    process.on('unhandledRejection', unhandled);
  });
  afterEach(() => {
    process.off('unhandledRejection', unhandled);
  });
  return unhandled;
}

/** Node tells of unhandled rejections after the microtasks of a turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
