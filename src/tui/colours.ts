import type { Tone } from './rows.ts';

/** The look of a meaning, as properties of Ink's Text. */
export interface Look {
  readonly color?: string;
  readonly bold?: boolean;
  readonly dimColor?: boolean;
  readonly inverse?: boolean;
}

/** The sixteen colours that every terminal has and that every theme keeps legible. */
const coloured: Readonly<Record<Tone, Look>> = {
  strong: { bold: true },
  muted: { dimColor: true },
  good: { color: 'green' },
  bad: { color: 'red' },
  warning: { color: 'yellow' },
  accent: { color: 'cyan' },
  front: { color: 'blue' },
  now: { color: 'magenta' },
  selected: { inverse: true },
  client: { color: 'white' },
  network: { color: 'blue' },
  queue: { color: 'yellow' },
  input: { color: 'cyan' },
  infer: { color: 'green' },
  output: { color: 'magenta' },
};

const plain: Look = {};

/** Without colours, returns only the other properties: colour alone must never carry meaning. */
export function toLook(tone: Tone | undefined, hasColours: boolean): Look {
  if (tone === undefined) return plain;
  const { color, ...rest } = coloured[tone];
  return hasColours && color !== undefined ? { color, ...rest } : rest;
}
