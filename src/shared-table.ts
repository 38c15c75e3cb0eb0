/**
 * The weak table of this name. Entry points are bundled separately, and a program may load two copies of the package: all of them have the
 * same table, so a name says which version of its content it holds.
 */
export function sharedTable<Value>(name: string): Pick<WeakMap<object, Value>, 'get' | 'set' | 'has' | 'delete'> {
  const symbol = Symbol.for(`petstore-inventory.${name}`);
  const known: unknown = Reflect.get(globalThis, symbol);
  if (known instanceof WeakMap) return known;
  const table = new WeakMap<object, Value>();
  Object.defineProperty(globalThis, symbol, { value: table });
  return table;
}
