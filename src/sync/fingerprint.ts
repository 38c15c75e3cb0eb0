import type { WantedStock } from './wanted-stock.ts';

const LANES = [0x9e3779b1, 0x85ebca77, 0xc2b2ae3d, 0x27d4eb2f] as const;

/**
 * A 128-bit hash of a wanted state, as 32 hexadecimal digits.
 *
 * Each pet is hashed by itself and the hashes are added, so the order of the pets does not matter. It detects a wrong file by mistake,
 * and is not cryptographically secure.
 */
export function fingerprint(stock: WantedStock): string {
  const sums = new Uint32Array(LANES.length);
  for (const [petId, row] of stock.pets()) {
    const text = `${petId}${stock.isRelative(row) ? '+' : '='}${stock.amount(row)}`;
    for (let lane = 0; lane < sums.length; lane++) sums[lane] = (sums[lane] ?? 0) + hash(text, LANES[lane] ?? 0);
  }
  return [...sums].map((sum) => sum.toString(16).padStart(8, '0')).join('');
}

/** MurmurHash3's steps, one per character. */
function hash(text: string, seed: number): number {
  let bits = seed;
  for (let index = 0; index < text.length; index++) {
    bits = Math.imul(bits ^ text.charCodeAt(index), 0xcc9e2d51);
    bits = (bits << 15) | (bits >>> 17);
  }
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
