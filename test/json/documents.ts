import * as z from 'zod/mini';
import type { Int64 } from '../../src/contract/models.ts';
import type { Problem } from '../../src/errors.ts';
import { BadRows, type ReadFailure } from '../../src/json/failure.ts';
import { ItemReader } from '../../src/json/item-reader.ts';
import { itemSchema, problemsOf } from '../../src/json/problems.ts';

/** Documents that a service may send, good and bad, in layouts that differ. */
export const documents = [
  '[]',
  ' [ ] \n',
  '\uFEFF[{"petId":1,"quantity":2,"status":"sold"}]',
  '[{"petId":1,"quantity":2,"status":"available"},{"petId":-2,"quantity":-0,"status":"pending"}]',
  '[\n  {\n    "petId": 1,\n    "quantity": 2,\n    "status": "sold"\n  },\r\n\t{ "petId": 2, "quantity": 3, "status": "new" }\n]',
  '\t[\t{"petId":1,"quantity":2,"status":"sold"}\t,\t{"petId":2,"quantity":3,"status":"new"}\t]\t',
  '[{"status":"sold","quantity":1e2,"petId":1.0},{"quantity":3,"petId":0,"status":""}]',
  '[{"petId":1,"quantity":2,"status":"},{\\"},{"},{"petId":2,"quantity":2,"status":"]}],[\\\\"}]',
  '[{"petId":1,"quantity":2,"status":"größe 猫 🐈"},{"petId":2,"quantity":2,"status":"\\ud83d\\ude00\\n"}]',
  '[{"petId":1,"more":{"a":[{},{"b":"},{"}],"c":null},"quantity":2,"status":"sold"},{"petId":2,"quantity":1,"status":"sold","x":[[]]}]',
  '[{"pet\\u0049d":7,"quantity":2,"status":"sold"},{"petId":"no","petId":8,"quantity":2,"status":"sold"}]',
  '[{"__proto__":{"petId":1},"petId":3,"quantity":2,"status":"sold","constructor":1}]',
  '[{"":"}","petId":1,"quantity":2,"status":"sold"}]',
  '[{"petId":1.50e1,"quantity":30e-1,"status":"1.5"},{"petId":-0.0,"quantity":0e9,"status":"sold","price":0.1,"9e9":[1.5]}]',
  '[{"petId":0.00000000000000000000001e23,"quantity":0e99,"status":"sold"},{"petId":0e-9,"quantity":0.0e-99,"status":"sold"}]',
  '[{"petId":9007199254740991,"quantity":9007199254740991,"status":"sold"},{"petId":-9007199254740991,"quantity":0,"status":"sold"}]',
];

export const badDocuments = [
  '',
  '  ',
  '{}',
  'null',
  '[1]',
  '[null,"},{",[]]',
  '[,]',
  '[{"petId":1,"quantity":2,"status":"sold"},]',
  '[{"petId":1,"quantity":2,"status":"sold"},,{"petId":1,"quantity":2,"status":"sold"}]',
  '[{"petId":1,"quantity":2,"status":"sold"}{"petId":1,"quantity":2,"status":"sold"}]',
  '[{"petId":1,"quantity":2,"status":"sold"}]]',
  '[{"petId":1,"quantity":2,"status":"sold"}],[]',
  '[{"petId":01,"quantity":2,"status":"sold"}]',
  '[{"petId":1,"quantity":2,"status":"so\tld"}]',
  '[{"petId":1,"quantity":1.5,"status":"sold"}]',
  '[{"petId":1,"quantity":0.99999999999999999999,"status":"sold"}]',
  '[{"petId":4503599627370497.5,"quantity":1,"status":"sold"}]',
  '[{"petId":9007199254740991.4,"quantity":1,"status":"sold"}]',
  '[{"petId":"1","quantity":1,"status":"sold"}]',
  '[{"petId":1,"quantity":1e400,"status":"sold"}]',
  '[{"petId":1e400,"quantity":1,"status":"sold"}]',
  '[{"petId":-,"quantity":1,"status":"sold"}]',
  '[{"petId":1,"quantity":1,"status":"sold"]',
  '[{"petId":1,"quantity":1,"status":"sold"}}',
  '[1}',
  '\uFEFF\uFEFF[]',
  '[\uFEFF]',
];

/** The problems of a document, including those that only the schema finds. */
export function problemsIn(failure: ReadFailure | undefined): readonly Problem[] {
  const problems = failure?.problems ?? [];
  return problems instanceof BadRows ? problemsOf(problems) : problems;
}

export function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

/** Pushes the parts of the bytes between the cuts; `undefined` stands for a document that was refused. */
export function readInParts(bytes: Uint8Array, cuts: readonly number[], int64: Int64 = 'number'): unknown[] | undefined {
  const reader = new ItemReader(int64);
  const ends = [...cuts, bytes.length].sort((a, b) => a - b);
  const items = ends.flatMap<unknown>((end, index) => reader.push(bytes.slice(ends[index - 1] ?? 0, end)).items);
  return reader.end().failure === undefined ? items : undefined;
}

/** What is read of an item that the schema accepts: 0 for -0, which JSON writes `-0`, and an id of the wanted type. */
export const readSchema = {
  number: z.pipe(
    itemSchema.number,
    z.transform(({ petId, quantity, status }) => ({ petId: petId + 0, quantity: quantity + 0, status })),
  ),
  bigint: z.pipe(
    itemSchema.bigint,
    z.transform(({ petId, quantity, status }) => ({ petId: BigInt(petId), quantity: quantity + 0, status })),
  ),
} as const;

/** The reference: everything in memory, strict UTF-8, `JSON.parse`, zod alone; long integers by the digits of their text. */
export function readPlainly(bytes: Uint8Array, int64: Int64 = 'number'): unknown[] | undefined {
  try {
    const value: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes), exactly);
    return z.parse(z.array<z.ZodMiniType>(readSchema[int64]), value);
  } catch {
    return undefined;
  }
}

/** Gives an integer by its digits, and 0.5 for every fraction, which a double may have rounded to an integer. */
function exactly(this: unknown, key: string, value: unknown, { source = '' }: { source?: string } = {}): unknown {
  const [, whole, fraction = '', exponent = '0'] = /^(-?\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(source) ?? [];
  const digits = whole === undefined ? 0n : BigInt(whole + fraction);
  const zeros = Number(exponent) - fraction.length;
  if (digits === 0n) return value;
  const unit = 10n ** BigInt(Math.min(Math.abs(zeros), 400));
  if (zeros < 0 && digits % unit !== 0n) return 0.5;
  const exact = zeros < 0 ? digits / unit : digits * unit;
  return key === 'petId' && !Number.isSafeInteger(Number(exact)) ? exact : Number(exact);
}
