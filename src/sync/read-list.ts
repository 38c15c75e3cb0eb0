import type { PetStoreApi } from '../api.ts';
import type { Int64 } from '../contract/models.ts';
import type { ProgressReporter } from './progress.ts';
import type { StockJob } from './stock-job.ts';

interface ListOptions {
  signal: AbortSignal | undefined;
  progress: ProgressReporter;
  priority?: 'normal' | 'low';
}

/** Reads the service's list once into a job, in one request. @throws what the client throws; the job then knows as much as before. */
export async function readList(
  client: PetStoreApi<Int64>,
  job: StockJob,
  { signal, progress, priority = 'low' }: ListOptions,
): Promise<void> {
  progress.countRequest();
  try {
    for await (const { petId, quantity } of client.streamInventory({ priority, ...(signal && { signal }) })) {
      signal?.throwIfAborted();
      job.hear(petId, quantity);
      progress.countListed(job.listed);
    }
  } catch (error) {
    job.forgetList();
    throw error;
  }
}
