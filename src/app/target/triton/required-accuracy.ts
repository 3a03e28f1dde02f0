import type { AccuracyRule } from '#adapter/variants/accuracy-guard.ts';
import { TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { didYouMean } from '#base/nearest.ts';
import { OTHER_OUTPUTS, type Tolerance } from '#loadgen/accuracy.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { takesSequences } from '#triton/config/batching-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { type AccuracyCommand, parseAccuracyCommand } from '../../traffic/accuracy-command.ts';
import { trafficTo } from './front-inputs.ts';

/** Default tolerance of outputs. */
export const EXACT: AccuracyRule = { absolute: 0, relative: 0, outsideShare: 0 };

/** Returns the user's command for outputs; null without one. Errors: USAGE. */
export function readCommand(spec: StudySpec, config: ModelConfig): AccuracyCommand | null {
  const words = spec.accuracy?.command;
  if (words === undefined) return null;
  const command = parseAccuracyCommand(words);
  const { inputData = [] } = trafficTo(spec, spec.model);
  if (takesSequences(config)) throw unusable('a model with sequences');
  if (inputData.every((name) => name === 'zero' || name === 'random')) throw unusable('made-up requests');
  return command;
}

const unusable = (reason: string): TrituneError =>
  new TrituneError('USAGE', `--accuracy-command cannot be used with ${reason}`, 'give requests with --input-data FILE');

/** Errors: USAGE for an allowed error in an output that the model does not have. */
export function checkAllowances({ absolute, relative }: Tolerance, { output = [], name }: ModelConfig): void {
  const outputs = output.map((each) => each.name);
  const unknown = [absolute, relative]
    .flatMap((each) => (typeof each === 'number' ? [] : Object.keys(each)))
    .find((each) => each !== OTHER_OUTPUTS && outputs.length > 0 && !outputs.includes(each));
  if (unknown === undefined) return;
  throw new TrituneError(
    'USAGE',
    `model '${name}' has no output '${plainLine(unknown)}'${didYouMean(unknown, outputs)}`,
    `its outputs are ${outputs.join(', ')}`,
  );
}
