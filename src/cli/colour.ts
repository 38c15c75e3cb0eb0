import type { Terminal, TextStream } from './terminal.ts';

const CODES = { red: 31, green: 32, yellow: 33, dim: 2, bold: 1 } as const;

/** Adds colour to text if the stream shows colours. */
export type Paint = (colour: keyof typeof CODES, text: string) => string;

/**
 * Colours appear on a terminal, unless NO_COLOR is set and not empty (no-color.org). FORCE_COLOR comes first, as in Node: 0 and false turn
 * colours off everywhere, any other text but the empty one turns them on (force-color.org).
 */
export function paintFor(stream: TextStream, { env }: Pick<Terminal, 'env'>): Paint {
  const { FORCE_COLOR, NO_COLOR, TERM } = env;
  const isOn = FORCE_COLOR ? !/^(?:0|false)$/.test(FORCE_COLOR) : stream.isTTY === true && !NO_COLOR && TERM !== 'dumb';
  return (colour, text) => (isOn ? `\u001b[${CODES[colour]}m${text}\u001b[0m` : text);
}
