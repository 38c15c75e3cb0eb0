const never = new Promise<never>(() => {});

/** Lets `steps` steps pass, then holds everything for ever, as a killed process does. */
export function killer(steps: number): { step: () => Promise<void>; killed: Promise<'killed'> } {
  let left = steps;
  let kill = (): void => {};
  const killed = new Promise<'killed'>((resolve) => {
    kill = () => resolve('killed');
  });
  const step = async (): Promise<void> => {
    left -= 1;
    if (left >= 0) return;
    kill();
    await never;
  };
  return { step, killed };
}
