import { vi } from 'vitest';

/** Another copy of the package: it knows nothing of this one's gates, like another process. */
export async function importAnew(): Promise<typeof import('petstore-inventory')> {
  vi.resetModules();
  return import('petstore-inventory');
}
