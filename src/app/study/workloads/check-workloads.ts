import { TrituneError } from '../../../base/errors.ts';
import type { StudySpec } from '../../../spec/study-spec.ts';

/** Errors: USAGE for what does not go with workloads. */
export function checkWorkloads(spec: StudySpec): void {
  if (!spec.workloads) return;
  const { levels, traffic, measurement, together, adapter } = spec;
  if (levels.concurrency) refuse('--concurrency', 'give --request-rate: the levels are mean requests per second');
  if (levels.batch) refuse('--batch-size', 'say in a class of the workload how many samples its requests have');
  if (levels.requestDistribution !== 'constant')
    refuse('--request-distribution', 'the workload says when requests come');
  if (measurement.stability !== 'interval') refuse('--stability', 'a workload is measured over whole passes');
  if (traffic.sharedMemory !== undefined && traffic.sharedMemory !== 'none')
    refuse('--shared-memory', 'tune without it, or for one rate');
  if (together?.mix) refuse('--mix', 'say with the weights of classes how much each model is asked');
  if (adapter !== undefined) refuse('--adapter', 'an adapter of your own sends what it likes: tune for a rate there');
  if (spec.recording) refuse('recordings', 'record at rates');
}

function refuse(what: string, hint: string): never {
  throw new TrituneError('USAGE', `--workload does not go with ${what}`, hint);
}
