import type { LightSignal } from '../../src/clock/light-signal.ts';

/** Gives how many of the listeners that are added from now on are still there. */
export function countListeners(signal: LightSignal): () => number {
  const listeners: (() => void)[] = [];
  const add = signal.addEventListener.bind(signal);
  const remove = signal.removeEventListener.bind(signal);
  signal.addEventListener = (type, listener) => {
    listeners.push(listener);
    add(type, listener);
  };
  signal.removeEventListener = (type, listener) => {
    const at = listeners.indexOf(listener);
    if (at >= 0) listeners.splice(at, 1);
    remove(type, listener);
  };
  return () => listeners.length;
}
