import { PET_STATUSES } from '../contract/pet-status.ts';

const KNOWN: readonly string[] = PET_STATUSES;

/** Numbers statuses, so that a column of them takes a byte a pet. */
export class StatusTable {
  // Those that the specification does not name.
  #others: string[] | undefined;
  #codes: Map<string, number> | undefined;

  get size(): number {
    return KNOWN.length + (this.#others?.length ?? 0);
  }

  codeOf(status: string): number {
    for (let code = 0; code < KNOWN.length; code++) if (KNOWN[code] === status) return code;
    return this.#codeOfOther(status);
  }

  statusOf(code: number): string {
    return KNOWN[code] ?? this.#others?.[code - KNOWN.length] ?? '';
  }

  /** The code of a status if it has one. */
  find(status: string): number | undefined {
    const known = KNOWN.indexOf(status);
    return known >= 0 ? known : this.#codes?.get(status);
  }

  #codeOfOther(status: string): number {
    this.#codes ??= new Map();
    this.#others ??= [];
    const known = this.#codes.get(status);
    if (known !== undefined) return known;
    const code = this.size;
    this.#codes.set(status, code);
    this.#others.push(status);
    return code;
  }
}
