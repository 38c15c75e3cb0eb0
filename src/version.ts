/** The package's own; a test holds it to package.json, which not every runtime can read. */
export const VERSION = '1.0.0-rc.1';
