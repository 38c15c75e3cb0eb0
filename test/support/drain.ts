/** Everything that a stream gives before it ends or fails. */
export async function drain<T>(stream: AsyncIterable<T>): Promise<{ got: T[]; error: unknown }> {
  const got: T[] = [];
  try {
    for await (const one of stream) got.push(one);
    return { got, error: undefined };
  } catch (error) {
    return { got, error };
  }
}
