import { TrituneError } from '#base/errors.ts';
import type { StudySpec } from '#spec/study-spec.ts';

/** Errors: USAGE for options that do not work with workloads. */
export function checkWorkloads(spec: StudySpec): void {
  if (!spec.workloads) return;
  const { levels, measurement, together, adapter } = spec;
  if (levels.concurrency) refuse('--concurrency', 'give --request-rate instead');
  if (levels.batch) refuse('--batch-size', 'set the batch of each class in the workload file');
  if (levels.requestDistribution !== 'constant')
    refuse('--request-distribution', 'leave it out: the workload file has the arrivals');
  if (measurement.stability !== 'interval')
    refuse('--stability', 'leave it out: a workload is measured over whole passes');
  if (together?.mix) refuse('--mix', 'set the weights of the classes in the workload file');
  if (adapter !== undefined) refuse('--adapter', 'use --request-rate instead: an adapter sends its own requests');
  if (spec.recording) refuse('recordings', 'record without --workload');
}

function refuse(what: string, hint: string): never {
  throw new TrituneError('USAGE', `--workload cannot be used with ${what}`, hint);
}
