/** Settles like `answer`; rejects with an error of this message if that takes longer than `ms` milliseconds. */
export function withinTimeout<T>(answer: Promise<T>, ms: number, message: string): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(message)), ms);
    answer.then(resolve, reject).then(() => clearTimeout(timer));
  });
}
