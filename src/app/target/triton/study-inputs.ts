import type { PreparedInputs } from '#loadgen/inputs.ts';
import type { OpenStudy } from '../../study/study.ts';
import { checkEndOnly } from '../../traffic/limits.ts';
import { type FrontInputs, inputsOfFronts } from './front-inputs.ts';
import type { TritonModels } from './models.ts';
import { inputsOfWorkloads, type WorkloadInputs } from './tensor-workloads.ts';

/** The requests of a study of tensors, for each front and under each workload. */
export interface StudyInputs {
  readonly inputs: PreparedInputs;
  readonly otherFronts: readonly FrontInputs[];
  readonly underWorkloads: WorkloadInputs;
  /** All inputs, each once. */
  readonly all: readonly PreparedInputs[];
}

/** Prepares the requests of a study. Errors: USAGE, INPUT_INVALID, those of `readRequests`. */
export async function inputsOfStudy(
  { spec, workloads }: Pick<OpenStudy, 'spec' | 'workloads'>,
  models: TritonModels,
): Promise<StudyInputs> {
  checkEndOnly(spec.goal.goodput, '--goodput');
  const underWorkloads = workloads ? await inputsOfWorkloads(spec, models, workloads) : [];
  const [{ inputs }, ...otherFronts] = await inputsOfFronts(spec, models, underWorkloads[0]);
  const all = [inputs, ...otherFronts.map((front) => front.inputs), ...underWorkloads.slice(1).flat()];
  return { inputs, otherFronts, underWorkloads, all };
}
