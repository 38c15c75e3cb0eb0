/** The version of the package. A test compares it with package.json, which not every runtime can read. */
export const VERSION = '1.0.0-rc.1';
