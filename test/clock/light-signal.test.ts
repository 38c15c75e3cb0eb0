import { describe, expect, test } from 'vitest';
import { LightSignal } from '../../src/clock/light-signal.ts';

describe('LightSignal', () => {
  test('calls its listeners once, in the order in which they were added, and keeps the first reason', () => {
    const signal = new LightSignal();
    const told: string[] = [];
    signal.addEventListener('abort', () => told.push(`first: ${signal.reason}`));
    signal.addEventListener('abort', () => told.push('second'));
    expect([signal.aborted, signal.reason]).toEqual([false, undefined]);
    signal.abort('enough');
    signal.abort('again');
    expect([told, signal.aborted, signal.reason]).toEqual([['first: enough', 'second'], true, 'enough']);
  });

  test('does not call a listener that was removed, even by another listener', () => {
    const signal = new LightSignal();
    const told: string[] = [];
    const [early, late] = [() => told.push('early'), () => told.push('late')];
    signal.addEventListener('abort', early);
    signal.addEventListener('abort', () => signal.removeEventListener('abort', late));
    signal.addEventListener('abort', late);
    signal.removeEventListener('abort', early);
    signal.abort('enough');
    expect(told).toEqual([]);
  });

  test('keeps its only listener when one that it does not have is removed', () => {
    const signal = new LightSignal();
    const told: string[] = [];
    signal.addEventListener('abort', () => told.push('only'));
    signal.removeEventListener('abort', () => told.push('other'));
    signal.abort('enough');
    expect(told).toEqual(['only']);
  });

  test('gives one AbortSignal that aborts together with it, even if it is asked for after the abort', () => {
    const [early, late] = [new LightSignal(), new LightSignal()];
    const signal = early.toAbortSignal();
    expect([signal.aborted, early.toAbortSignal() === signal]).toEqual([false, true]);
    early.abort('enough');
    late.abort('too late');
    expect([signal.aborted, signal.reason]).toEqual([true, 'enough']);
    expect([late.toAbortSignal().aborted, late.toAbortSignal().reason]).toEqual([true, 'too late']);
  });

  test('throws its reason once it is aborted', () => {
    const signal = new LightSignal();
    signal.throwIfAborted();
    signal.abort(new Error('enough'));
    expect(() => signal.throwIfAborted()).toThrow('enough');
  });
});
