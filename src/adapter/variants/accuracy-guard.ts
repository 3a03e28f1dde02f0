import { isTrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { type Accuracy, type Allowance, OTHER_OUTPUTS, type Tolerance } from '#loadgen/accuracy.ts';
import { toSettingsKey } from '#perfmodel/settings-key.ts';
import type { Candidate } from '#space/types.ts';
import { describeAccuracy, percent } from '#study/summary/accuracy-words.ts';
import type { Applied } from '#tuner/adapter.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';

/** The allowed distance of outputs from the expected ones. */
export interface AccuracyRule extends Tolerance {
  /** The share of elements, 0 to 1, that may exceed that distance. */
  readonly outsideShare: number;
}

interface GuardOptions {
  readonly rule: AccuracyRule;
  readonly original: Candidate;
  /** Sends the requests with expected outputs to the served model, and compares the replies. */
  readonly compare: (candidate: Candidate, signal: AbortSignal) => Promise<Accuracy>;
}

/** Checks an applied candidate's outputs before it is measured. */
export type AccuracyGuard = (applied: Applied, signal: AbortSignal) => Promise<Applied>;

/**
 * Compares the outputs of candidates with the expected ones, once per combination of settings:
 * instances and batching do not change a model's answers. The original is also compared, but never
 * refused. Errors: a CandidateRefusedError of the kind `inaccurate`; USAGE for a command that fails
 * on the outputs of the original.
 */
export function createAccuracyGuard({ rule, original, compare }: GuardOptions): AccuracyGuard {
  const passed = new Set<string>();
  const isOriginal = ({ shape }: Candidate): boolean => toSettingsKey(shape) === toSettingsKey(original.shape);
  return async (applied, signal) => {
    const { candidate } = applied;
    const key = toSettingsKey(candidate.shape);
    if (passed.has(key)) return applied;
    const accuracy = await compare(candidate, signal).catch((error: unknown) => {
      if (isOriginal(candidate) || !isTrituneError(error, 'USAGE')) throw error;
      throw new CandidateRefusedError('inaccurate', error.message, error);
    });
    const isOutside = accuracy.outsideShare > rule.outsideShare;
    if ((isOutside || accuracy.metric?.holds === false) && !isOriginal(candidate)) throw inaccurate(accuracy, rule);
    passed.add(key);
    return { ...applied, accuracy };
  };
}

function inaccurate(accuracy: Accuracy, rule: AccuracyRule): CandidateRefusedError {
  const { absolute, relative, outsideShare } = rule;
  const allowed = `${percent(outsideShare)} beyond ${formatAllowance(absolute)} + ${formatAllowance(relative)} × |expected|`;
  const reason = [
    describeAccuracy(accuracy),
    ...(accuracy.outsideShare > outsideShare ? [`allowed: ${allowed}`] : []),
    ...(accuracy.metric ? [`required: ${accuracy.metric.required}`] : []),
  ].join('; ');
  return new CandidateRefusedError('inaccurate', reason, {
    message: `its outputs are too far from the expected ones: ${reason}`,
    hint: 'allow more with --atol, --rtol and --outside-share, or in --accuracy-command, or leave the variant out',
  });
}

/** Such as `0.1`, or `(1 in boxes, 0.01 in scores)`. */
function formatAllowance(allowance: Allowance): string {
  if (typeof allowance === 'number') return String(allowance);
  return `(${Object.entries(allowance)
    .map(([output, value]) => `${value} in ${output === OTHER_OUTPUTS ? 'others' : plainLine(output)}`)
    .join(', ')})`;
}
