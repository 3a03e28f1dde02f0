import { TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import type { RequestedTopology } from '#space/joint/topology-of.ts';
import type { StudySpec } from '#spec/study-spec.ts';

/**
 * Returns the topology that a spec asks for. Errors: USAGE for settings of a model that gets no
 * requests.
 */
export function topologyRequest({
  model,
  together = {},
  goal,
}: Pick<StudySpec, 'model' | 'together' | 'goal'>): RequestedTopology {
  const { models = [model], mix = {}, requests = {}, blsComposing = {} } = together;
  const fronts = [...new Set([model, ...models])];
  const named = [mix, requests, goal.modelBudgetsMs ?? {}].flatMap(Object.keys);
  const stray = named.find((name) => !fronts.includes(name));
  if (stray !== undefined)
    throw refuse(`--mix names '${stray}', which gets no requests`, `use only ${listed(fronts)} in --mix`);
  const mixed = fronts.map((front) => ({ model: front, ...lookUp(mix, front) }));
  if (mixed.every((front) => 'requestsPerSecond' in front))
    throw refuse(
      'every model of --mix has a fixed rate, so there is no load level to search',
      'give one model a share, such as --mix a=1,b=40/s',
    );
  return { fronts: mixed, calls: blsComposing };
}

const refuse = (what: string, hint: string): TrituneError => new TrituneError('USAGE', what, hint);
