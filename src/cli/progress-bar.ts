import { SingleBar } from 'cli-progress';
import type { SyncProgress } from '../sync/index.ts';
import { counted, duration } from './duration.ts';
import type { Terminal } from './terminal.ts';

const BAR_WIDTH = 24;
const REDRAWS_PER_SECOND = 10;

export interface ProgressDisplay {
  show(progress: SyncProgress): void;
  end(): void;
}

/** A bar on stderr where that is a terminal that can draw one, else nothing. */
export function showProgress(terminal: Terminal): ProgressDisplay {
  if (!terminal.stderr.isTTY || terminal.env.TERM === 'dumb') return { show: () => {}, end: () => {} };
  const bar = new SingleBar({ ...BAR_OPTIONS, stream: terminal.stderr });
  let isDrawn = false;
  return {
    show: (progress) => {
      const text = { text: describe(progress) };
      if (!isDrawn) bar.start(Math.max(1, progress.changes), progress.updated, text);
      isDrawn = true;
      bar.setTotal(Math.max(1, progress.changes));
      bar.update(progress.updated + progress.failed, text);
    },
    end: () => {
      if (isDrawn) bar.stop();
    },
  };
}

const BAR_OPTIONS = {
  format: '{bar} {text}',
  barsize: BAR_WIDTH,
  barCompleteChar: '█',
  barIncompleteChar: '░',
  fps: REDRAWS_PER_SECOND,
  // Interrupts are the command's.
  gracefulExit: false,
  clearOnComplete: true,
  hideCursor: true,
};

function describe({ phase, listed, changes, updated, failed, requests, waitingUntil, etaMs = 0 }: SyncProgress): string {
  if (phase === 'listing') return `reading the list: ${counted(listed, 'pet')}`;
  // The bar is drawn when something happens, so a countdown would stand still.
  const waits = waitingUntil ? `, waiting for quota until ${waitingUntil.toLocaleTimeString('en-GB')}` : '';
  const failures = failed > 0 ? `, ${failed} failed` : '';
  return `${updated + failed}/${changes}${failures}, ${counted(requests, 'request')}, ${duration(etaMs)} left${waits}`;
}
