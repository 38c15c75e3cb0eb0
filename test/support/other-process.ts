import { vi } from 'vitest';

/** Another copy of the package, which does not share this one's gates, like another process. */
export async function importAnew(): Promise<typeof import('petstore-inventory')> {
  vi.resetModules();
  return import('petstore-inventory');
}
