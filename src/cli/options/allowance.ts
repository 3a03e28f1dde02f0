import { TrituneError } from '#base/errors.ts';
import { type Allowance, OTHER_OUTPUTS } from '#loadgen/accuracy.ts';
import { numberFrom } from './option-values.ts';

/**
 * Reads an allowed error of outputs: a number for all of them, or `boxes=1,scores=0.01`; adds it to
 * the earlier ones, and replaces those of the same outputs. Errors: USAGE.
 */
export function allowance(text: string, previous: Allowance | undefined): Allowance {
  const said = text.split(',').map((part): readonly [output: string, value: number] => {
    const at = part.lastIndexOf('=');
    return [at < 0 ? OTHER_OUTPUTS : part.slice(0, at).trim(), numberFrom(0)(part.slice(at + 1))];
  });
  const names = said.map(([output]) => output);
  if (names.includes('') || new Set(names).size < names.length) {
    throw new TrituneError(
      'USAGE',
      `'${text}' names an output twice, or none`,
      'write for example boxes=1,scores=0.01',
    );
  }
  const known = typeof previous === 'number' ? { [OTHER_OUTPUTS]: previous } : previous;
  const all: Readonly<Record<string, number>> = { ...known, ...Object.fromEntries(said) };
  return Object.keys(all).join() === OTHER_OUTPUTS ? (all[OTHER_OUTPUTS] as number) : all;
}
