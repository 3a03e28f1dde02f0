import { TrituneError } from '../../base/errors.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import { devicesOf } from '../server/devices.ts';
import type { OpenServer } from '../server/open-server.ts';
import { checkEndOnly } from '../traffic/limits.ts';
import { requestsOf } from '../traffic/requests.ts';
import { classInputsOf, classShares, frontsOf, type WorkloadFront } from '../traffic/workload.ts';
import { type LevelListener, type LevelTarget, levelTarget, type TargetParts } from './measuring.ts';
import { type FrontAsked, type OpenFront, openFront } from './open-front.ts';
import type { ProfilePlan } from './plan.ts';
import type { GoodputLimits, ProfileSpec } from './profile-spec.ts';

/** The profiled model, with its requests. */
export interface ProfileTarget extends LevelTarget {
  /** Configs of the models that get requests. */
  readonly configs: readonly [ModelConfig, ...ModelConfig[]];
  /** Samples in one request; the mean if the models or the classes of a workload differ. */
  readonly batch: number;
}

/** The models to send to, each with its part of the workload, if any. */
type Asked = FrontAsked & { readonly part?: WorkloadFront };

/** Errors: USAGE for limits on tokens, because a tensor model has none. */
export function checkLimits({ goodput }: GoodputLimits, { workload }: Pick<ProfilePlan, 'workload'>): void {
  checkEndOnly(goodput, '--goodput');
  for (const { name, limits } of workload?.workload.classes ?? []) checkEndOnly(limits, `class '${name}'`);
}

/** Returns the models to send to. Errors: USAGE if none is named. */
export function modelsOf(
  spec: Pick<ProfileSpec, 'model'>,
  { workload }: Pick<ProfilePlan, 'workload'>,
): readonly [string, ...string[]] {
  const models = workload ? frontsOf(workload, spec.model).map(({ model }) => model) : [spec.model];
  const [first, ...others] = models.filter((model) => model !== undefined);
  if (first === undefined) throw new TrituneError('USAGE', 'the model is missing', 'add -m MODEL');
  return [first, ...others];
}

/** Errors: MODEL_UNKNOWN, MODEL_UNREADY, USAGE, INPUT_INVALID, SERVER_*. */
export async function openProfileTarget(
  opened: OpenServer,
  model: string,
  spec: ProfileSpec,
  plan: ProfilePlan,
  signal: AbortSignal,
): Promise<ProfileTarget> {
  let listening: LevelListener | undefined;
  const observes = spec.profileExportFile !== undefined;
  if (observes && ((spec.clientThreads ?? 1) > 1 || spec.agents)) {
    throw new TrituneError(
      'USAGE',
      '--profile-export-file works with one thread on this machine only',
      'leave out --client-threads and --agents',
    );
  }
  const asked = askedOf(model, spec, plan).map((each) => ({
    ...each,
    ...(observes && {
      onObserved: ((observed, outputs) => listening?.onRequest(observed, outputs)) satisfies FrontAsked['onObserved'],
    }),
  }));
  const fronts = await openAll(opened, asked, spec, plan);
  const parts: TargetParts = {
    serviceKind: 'TRITON',
    isDecoupled: fronts.some((front) => front.isDecoupled),
    assumptions: fronts.flatMap(({ assumptions }) => assumptions),
    fronts: fronts.map(({ options }, index) => ({ ...options, classes: asked[index]?.part?.indexes })),
    devices: devicesOf(opened, modelsOf({ model }, plan)[0]),
    onLevel: (listener) => {
      listening = listener;
    },
    close: async () => {
      for (const front of fronts) await front.close();
    },
  };
  return {
    ...levelTarget(parts, spec, plan, signal),
    configs: fronts.map(({ config }) => config) as [ModelConfig, ...ModelConfig[]],
    batch: meanBatch(fronts, asked, plan),
  };
}

/** Each model weighs by its requests in the workload. */
function meanBatch(fronts: readonly OpenFront[], asked: readonly Asked[], { workload }: ProfilePlan): number {
  const counts = asked.map(({ part }) => (workload && part ? sum(classShares(part, workload)) : 1));
  return sum(fronts.map(({ options }, index) => options.requests.batch * (counts[index] as number))) / sum(counts);
}

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0);

function askedOf(model: string, spec: ProfileSpec, { workload }: ProfilePlan): readonly Asked[] {
  if (!workload) return [{ model, inputsOf: (original) => requestsOf(spec, original) }];
  return frontsOf(workload, model).map((part) => ({
    model: part.model,
    part,
    inputsOf: (original) => classInputsOf(part, spec, original, workload),
  }));
}

async function openAll(
  opened: OpenServer,
  asked: readonly Asked[],
  spec: ProfileSpec,
  plan: ProfilePlan,
): Promise<readonly [OpenFront, ...OpenFront[]]> {
  const fronts: OpenFront[] = [];
  try {
    for (const each of asked) fronts.push(await openFront(opened, each, spec, plan));
  } catch (error) {
    for (const front of fronts) await front.close();
    throw error;
  }
  return fronts as [OpenFront, ...OpenFront[]];
}
