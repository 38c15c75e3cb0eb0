// How long one import takes: `node import-case.ts SPECIFIER`
const [specifier = ''] = process.argv.slice(2);
const startedAtMs = performance.now();
if (specifier !== '') await import(specifier);
process.send?.({ ms: performance.now() - startedAtMs });
process.disconnect?.();
