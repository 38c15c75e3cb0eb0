export { fileJournal } from './file-journal.ts';
export { type ServedSandbox, type ServeSandboxOptions, serveSandbox } from './serve.ts';
