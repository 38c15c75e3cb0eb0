/** Milliseconds that this thread has worked so far. What other programs do meanwhile does not count. */
export function ownWorkMs(): number {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1000;
}
