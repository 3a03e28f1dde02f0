import { TrituneError } from '../../../base/errors.ts';
import type { AskedTopology } from '../../../space/joint/topology-of.ts';
import type { StudySpec } from '../../../spec/study-spec.ts';

/** Returns what a spec says of the models that are tuned together. Errors: USAGE for something of a model that no requests are sent to. */
export function askedTopology({
  model,
  together = {},
  goal,
}: Pick<StudySpec, 'model' | 'together' | 'goal'>): AskedTopology {
  const { models = [model], mix = {}, requests = {}, blsComposing = {} } = together;
  const fronts = [...new Set([model, ...models])];
  const named = [mix, requests, goal.modelBudgetsMs ?? {}].flatMap(Object.keys);
  const stray = named.find((name) => !fronts.includes(name));
  if (stray !== undefined) throw refuse(`no requests are sent to '${stray}'`, `they are sent to ${fronts.join(', ')}`);
  const asked = fronts.map((front) => ({ model: front, ...mix[front] }));
  if (asked.every((front) => 'requestsPerSecond' in front))
    throw refuse(
      'every model of the mix has a rate of its own, and none has the level that is searched',
      'give one a share: --mix a,b=40/s',
    );
  return { fronts: asked, calls: blsComposing };
}

const refuse = (what: string, hint: string): TrituneError => new TrituneError('USAGE', what, hint);
