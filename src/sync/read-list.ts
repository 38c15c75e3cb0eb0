import { checkItem, collect, type PetStoreApi } from '../api.ts';
import type { Int64 } from '../contract/models.ts';
import type { ProgressReporter } from './progress.ts';
import type { StockJob } from './stock-job.ts';

export interface ListOptions {
  signal: AbortSignal | undefined;
  progress?: ProgressReporter;
  priority?: 'normal' | 'low';
}

/**
 * Reads the service's list into a job, with one call, if the job needs it.
 *
 * @throws what the client throws, and for what is no item; then the job is as before
 */
export async function readList(
  client: Pick<PetStoreApi<Int64>, 'streamInventory'>,
  job: StockJob,
  { signal, progress, priority = 'low' }: ListOptions,
): Promise<void> {
  if (!job.needsList) return;
  progress?.countRequest();
  try {
    await collect(client.streamInventory({ priority, signal }), {
      begin: () => job.forgetList(),
      add: (items) => {
        signal?.throwIfAborted();
        for (const item of items) {
          checkItem(item, job.listed);
          job.observe(item.petId, item.quantity);
          progress?.countListed();
        }
      },
    });
  } catch (error) {
    job.forgetList();
    throw error;
  }
}
