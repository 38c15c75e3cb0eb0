/** The longest delay that a platform timer can hold; Node fires a longer one at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** Calls `onEnd` once after `ms` milliseconds, however long that is. Gives a function that stops the timer. */
export function startTimer(ms: number, onEnd: () => void): () => void {
  const endsAt = Date.now() + ms;
  const next = () => {
    const left = endsAt - Date.now();
    if (left > 0 && long) arm(left);
    else onEnd();
  };
  const long = ms > LONGEST_TIMER_MS;
  let timer: ReturnType<typeof setTimeout>;
  const arm = (left: number) => {
    timer = setTimeout(next, Math.max(0, Math.ceil(Math.min(left, LONGEST_TIMER_MS))));
  };
  arm(ms);
  return () => clearTimeout(timer);
}
