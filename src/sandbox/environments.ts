import { VERSION_SEGMENT } from '../contract/http.ts';

/** The path at which each environment is served (specification, What the service does and Versioning). */
export const BASE_PATHS = { production: `/${VERSION_SEGMENT}`, staging: `/staging/${VERSION_SEGMENT}` } as const;

export type Environment = keyof typeof BASE_PATHS;
