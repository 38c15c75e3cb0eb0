export { type ServedSandbox, type ServeSandboxOptions, serveSandbox } from './serve.ts';
