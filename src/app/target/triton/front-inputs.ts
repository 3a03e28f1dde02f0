import { lookUp } from '#base/look-up.ts';
import type { PreparedInputs } from '#loadgen/inputs.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { OriginalModel } from '../../server/open-server.ts';
import { type SeededTraffic, toTraffic } from '../../traffic/open-traffic.ts';
import { requireSizes } from '../../traffic/stated-sizes.ts';
import { readRequests } from '../../traffic/tensor-requests.ts';
import type { TritonModels } from './models.ts';

/** The requests to a model that clients call directly. */
export interface FrontInputs {
  /** The model's config when the requests are made. */
  readonly config: ModelConfig;
  readonly inputs: PreparedInputs;
}

/** Returns the traffic of a study for one of its fronts. */
export const trafficTo = (spec: StudySpec, model: string): SeededTraffic => ({
  ...toTraffic(spec),
  ...lookUp(spec.together?.requests, model),
});

/**
 * Returns the inputs for the study's own model and for each further front, in order. `prepared`:
 * inputs that exist already, if any. Errors: those of `readRequests` and `requireSizes`.
 */
export async function inputsOfFronts(
  spec: StudySpec,
  {
    originalModel,
    others,
    requestedTopology: topology,
  }: Pick<TritonModels, 'originalModel' | 'others' | 'requestedTopology'>,
  prepared: readonly PreparedInputs[] = [],
): Promise<readonly [FrontInputs, ...FrontInputs[]]> {
  const prepare = async (model: string, original: OriginalModel, place: number): Promise<FrontInputs> => {
    const { config } = original;
    const inputs = prepared[place] ?? (await readRequests(trafficTo(spec, model), original));
    requireSizes(inputs, config);
    return { config, inputs };
  };
  const more = topology.fronts
    .slice(1)
    .map(({ model }, place) => prepare(model, others.get(model) as OriginalModel, place + 1));
  return [await prepare(spec.model, originalModel, 0), ...(await Promise.all(more))];
}
