import { TrituneError } from '../../base/errors.ts';
import type { Allowance } from '../../loadgen/accuracy.ts';
import { numberFrom } from './option-values.ts';

/**
 * Reads an allowed error of outputs: a number for all of them, or `boxes=1,scores=0.01`; adds it to
 * the earlier ones. Errors: USAGE.
 */
export function allowance(text: string, previous: Allowance | undefined): Allowance {
  return text.split(',').reduce((all: Allowance | undefined, part) => {
    const at = part.lastIndexOf('=');
    const value = numberFrom(0)(part.slice(at + 1));
    if (at < 0 && all === undefined) return value;
    const output = at < 0 ? '*' : part.slice(0, at).trim();
    const known = typeof all === 'number' ? { '*': all } : (all ?? {});
    if (output !== '' && !Object.hasOwn(known, output)) return { ...known, [output]: value };
    throw new TrituneError(
      'USAGE',
      `'${text}' names an output twice, or none`,
      'write for example boxes=1,scores=0.01',
    );
  }, previous) as Allowance;
}
