import type { SyncProgress } from '../sync/index.ts';
import { counted, duration } from './duration.ts';

const WIDTH = 24;

/** How much of a synchronisation is done. */
export function progressBar({ changes, updated, failed }: SyncProgress): string {
  const complete = Math.round((WIDTH * (updated + failed)) / Math.max(1, changes));
  return `${'█'.repeat(complete)}${'░'.repeat(WIDTH - complete)}`;
}

/** The progress of a synchronisation in words. */
export function progressText({ phase, listed, changes, updated, failed, requests, etaMs = 0 }: SyncProgress): string {
  if (phase === 'listing') return `reading the list: ${counted(listed, 'pet')}`;
  const failures = failed > 0 ? `, ${failed} failed` : '';
  return `${updated + failed}/${changes}${failures}, ${counted(requests, 'request')}, ${duration(etaMs)} left`;
}
