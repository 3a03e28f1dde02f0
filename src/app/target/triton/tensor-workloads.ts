import type { TensorWorkload } from '#adapter/triton/profile.ts';
import type { ProfiledWorkloads } from '#adapter/workloads.ts';
import { TrituneError } from '#base/errors.ts';
import type { PreparedInputs } from '#loadgen/inputs.ts';
import type { Topology } from '#space/topology.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { OriginalModel } from '../../server/open-server.ts';
import { type StudiedWorkload, type StudiedWorkloads, toProfiled } from '../../study/read-workloads.ts';
import { checkEndOnly } from '../../traffic/limits.ts';
import type { OpenFronts } from '../../traffic/open-fronts.ts';
import { findLimits, listFronts, prepareClassInputs, type WorkloadFront } from '../../traffic/workload.ts';
import { trafficTo } from './front-inputs.ts';
import type { TritonModels } from './models.ts';

/** The inputs of a study's fronts under each workload: by workload, then by front. */
export type WorkloadInputs = readonly (readonly PreparedInputs[])[];

/**
 * Prepares the requests of a study's workloads for its models. Errors: USAGE for classes of models
 * that the study does not send to, and as `readRequests`.
 */
export function inputsOfWorkloads(
  spec: StudySpec,
  {
    originalModel,
    others,
    requestedTopology: topology,
  }: Pick<TritonModels, 'originalModel' | 'others' | 'requestedTopology'>,
  { search }: StudiedWorkloads,
): Promise<WorkloadInputs> {
  const models = topology.fronts.map(({ model }) => model);
  return Promise.all(
    search.map((workload) =>
      Promise.all(
        frontsIn(workload, spec.model, models).map((front) => {
          const original = front.model === spec.model ? originalModel : (others.get(front.model) as OriginalModel);
          return prepareClassInputs(front, trafficTo(spec, front.model), original, workload.played);
        }),
      ),
    ),
  );
}

/** Returns the workloads as a profile plays them, over the traffic of the study's fronts. */
export function profiledWorkloads(
  spec: StudySpec,
  topology: Topology | undefined,
  { rule, search, final }: StudiedWorkloads,
  inputs: WorkloadInputs,
  fronts: Pick<OpenFronts, 'requestsFrom'>,
): ProfiledWorkloads<TensorWorkload> {
  const models = topology?.fronts.map(({ model }) => model) ?? [spec.model];
  const profiled = (workload: StudiedWorkload, index: number): TensorWorkload => ({
    ...toProfiled(workload, spec),
    fronts: frontsIn(workload, spec.model, models).map(({ indexes }, place) => ({
      requestsFor: fronts.requestsFrom(place, inputs[index]?.[place] as PreparedInputs),
      classes: indexes,
    })),
  });
  return { rule, search: search.map(profiled), final: final.map(profiled) };
}

/**
 * Returns the parts of a workload in the order of the study's fronts. Errors: USAGE if its classes
 * are for other models, or for too few.
 */
function frontsIn(
  { name, played }: StudiedWorkload,
  model: string,
  models: readonly string[],
): readonly WorkloadFront[] {
  for (const each of played.workload.classes) checkEndOnly(findLimits(each), `class '${each.name}' of ${name}`);
  const fronts = listFronts(played, model);
  const stray = fronts.find((front) => !models.includes(front.model));
  if (stray) {
    throw new TrituneError(
      'USAGE',
      `the workload ${name} has requests for '${stray.model}', which is not in the study`,
      `tune them together: --together ${[...models, stray.model].join(',')}`,
    );
  }
  return models.map((model) => {
    const front = fronts.find((each) => each.model === model);
    if (front) return front;
    throw new TrituneError(
      'USAGE',
      `the workload ${name} has no requests for '${model}'`,
      `add a class with model: ${model} to the workload file`,
    );
  });
}
