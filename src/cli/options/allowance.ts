import { TrituneError } from '../../base/errors.ts';
import type { Allowance } from '../../loadgen/accuracy.ts';
import { numberFrom } from './option-values.ts';

/** The key of all outputs that have no allowance of their own. */
const OTHERS = '*';

/**
 * Reads an allowed error of outputs: a number for all of them, or `boxes=1,scores=0.01`; adds it to
 * the earlier ones, and replaces those of the same outputs. Errors: USAGE.
 */
export function allowance(text: string, previous: Allowance | undefined): Allowance {
  const said = text.split(',').map((part): readonly [output: string, value: number] => {
    const at = part.lastIndexOf('=');
    return [at < 0 ? OTHERS : part.slice(0, at).trim(), numberFrom(0)(part.slice(at + 1))];
  });
  const names = said.map(([output]) => output);
  if (names.includes('') || new Set(names).size < names.length) {
    throw new TrituneError(
      'USAGE',
      `'${text}' names an output twice, or none`,
      'write for example boxes=1,scores=0.01',
    );
  }
  const known = typeof previous === 'number' ? { [OTHERS]: previous } : previous;
  const all: Readonly<Record<string, number>> = { ...known, ...Object.fromEntries(said) };
  return Object.keys(all).join() === OTHERS ? (all[OTHERS] as number) : all;
}
