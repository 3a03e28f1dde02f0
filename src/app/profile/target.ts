import { TrituneError } from '../../base/errors.ts';
import { watchTogether } from '../../loadgen/client/cost.ts';
import type { LoadLevel } from '../../loadgen/types.ts';
import type { LevelOptions } from '../../profiler/level-options.ts';
import { measureLevel } from '../../profiler/measure-level.ts';
import { measureMix } from '../../profiler/measure-mix.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';
import { devicesOf } from '../server/devices.ts';
import type { OpenServer } from '../server/open-server.ts';
import { checkEndOnly } from '../traffic/limits.ts';
import { requestsOf } from '../traffic/requests.ts';
import { classInputsOf, frontsOf, hasClasses, limitsOf, type WorkloadFront } from '../traffic/workload.ts';
import { type LevelListener, type LevelTarget, measuringOf, reported } from './measuring.ts';
import { type FrontAsked, type OpenFront, openFront } from './open-front.ts';
import type { ProfilePlan } from './plan.ts';
import type { GoodputLimits, ProfileSpec } from './profile-spec.ts';

/** The model that is profiled, with what is sent to it. */
export interface ProfileTarget extends LevelTarget {
  /** Of the first model, where there are several. */
  readonly config: ModelConfig;
}

/** Models that are sent to, each with its part of a workload where there is one. */
type Asked = FrontAsked & { readonly part?: WorkloadFront };

/** Errors: USAGE for limits on tokens, of which a model of tensors has none. */
export function checkLimits({ goodput }: GoodputLimits, { workload }: Pick<ProfilePlan, 'workload'>): void {
  checkEndOnly(goodput, '--goodput');
  for (const { name, limits } of workload?.workload.classes ?? []) checkEndOnly(limits, `class '${name}'`);
}

/** Returns the models that the profile sends to. Errors: USAGE where none is named. */
export function modelsOf(
  spec: Pick<ProfileSpec, 'model'>,
  { workload }: Pick<ProfilePlan, 'workload'>,
): readonly [string, ...string[]] {
  const models = workload ? frontsOf(workload, spec.model).map(({ model }) => model) : [spec.model];
  const [first, ...others] = models.filter((model) => model !== undefined);
  if (first === undefined) throw new TrituneError('USAGE', 'there is no model to send to', 'give it with -m');
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
  if (observes && (spec.clientThreads ?? 1) > 1) {
    throw new TrituneError('USAGE', 'every request is kept by one thread only', 'leave out --client-threads');
  }
  const asked = askedOf(model, spec, plan).map((each) => ({
    ...each,
    ...(observes && {
      onObserved: ((observed, outputs) => listening?.onRequest(observed, outputs)) satisfies FrontAsked['onObserved'],
    }),
  }));
  const fronts = await openAll(opened, asked, spec, plan);
  const [first] = fronts;
  const devices = devicesOf(opened, modelsOf({ model }, plan)[0]);
  const watches = fronts.map(({ options }) => options.watchClient);
  const isDecoupled = fronts.some((front) => front.isDecoupled);
  const limits = limitsOfAll(spec, plan);
  return {
    config: first.config,
    serviceKind: 'TRITON',
    isDecoupled,
    assumptions: fronts.flatMap(({ assumptions }) => assumptions),
    measure: async (level, listener) => {
      listening = listener;
      const common = {
        level,
        signal,
        ...measuringOf(spec, plan),
        onProgress: (progress) => listener.onProgress(progress),
        deviceProbe: devices.probe,
        watchClient: watches.length === 1 ? watches[0] : () => watchTogether(watches.map((watch) => watch())),
      } satisfies Partial<LevelOptions>;
      const sent = fronts.flatMap(({ options }, index) => {
        const share = shareAt(asked[index]?.part, level, plan);
        return share === null ? [] : [{ ...common, ...options, ...limits, ...share }];
      });
      const [only] = sent as [LevelOptions];
      const measurement = sent.length === 1 ? await measureLevel({ ...only, level }) : await measureMix(common, sent);
      return reported(measurement, plan, isDecoupled);
    },
    close: async () => {
      await devices.close();
      for (const front of fronts) await front.close();
    },
  };
}

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

/** What a front plays of a level; null where none of its requests is due at so low a rate. */
function shareAt(
  part: WorkloadFront | undefined,
  level: LoadLevel,
  { workload }: ProfilePlan,
): Pick<LevelOptions, 'level' | 'scheduleAt'> | null {
  if (!part || !workload) return { level };
  const own = part.partAt(level.value);
  const requests = own.arrivalsNs.length;
  if (requests === 0) return null;
  const share = requests / workload.planAt(level.value).arrivalsNs.length;
  return { level: { ...level, value: level.value * share }, scheduleAt: () => ({ kind: 'arrivals', plan: own }) };
}

/** What requests are held to where their class says nothing. */
function limitsOfAll({ goodput }: ProfileSpec, { workload }: ProfilePlan): Pick<LevelOptions, 'limits'> {
  const [only] = workload && !hasClasses(workload.workload) ? workload.workload.classes : [];
  const limits = (only && limitsOf(only)) ?? goodput;
  return limits ? { limits } : {};
}
