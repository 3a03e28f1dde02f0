import { createControl } from '../../src/adapter/triton/control.ts';
import { createProfile, shorterWindows } from '../../src/adapter/triton/profile.ts';
import { openFronts } from '../../src/app/traffic/open-fronts.ts';
import { requestsOf } from '../../src/app/traffic/requests.ts';
import { realClock } from '../../src/base/clock.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { loadProfile } from '../../src/emulator/profile/profiles.ts';
import { startEmulator } from '../../src/emulator/start-emulator.ts';
import { metricsProbe } from '../../src/profiler/devices/device-probe.ts';
import { jointToJson } from '../../src/space/joint/definition.ts';
import { joinSpaces, jointOriginal } from '../../src/space/joint/joint-space.ts';
import { type AskedTopology, topologyOf } from '../../src/space/joint/topology-of.ts';
import { spaceFromJson } from '../../src/space/source/load.ts';
import type { Topology } from '../../src/space/topology.ts';
import { goalOverModels } from '../../src/study/goal/goal-of-models.ts';
import type { StudyRecord } from '../../src/study/records/records.ts';
import { jointSpaceView } from '../../src/study/search/samplers/joint-space-view.ts';
import { makeSampler, type SamplerName } from '../../src/study/search/samplers/registry.ts';
import type { Goal, LevelRange } from '../../src/study/types.ts';
import type { ModelConfig } from '../../src/triton/config/model-config.ts';
import { connectGrpc } from '../../src/triton/control/connect.ts';
import type { TunerEvent } from '../../src/tuner/seams.ts';
import { tune } from '../../src/tuner/tune.ts';
import { studyStarted } from '../study/builders.ts';
import { adapterOf } from '../tuner/world.ts';

/** Models of an emulator's profile that are tuned together. */
export interface JointStudy {
  readonly profile: string;
  readonly asked: AskedTopology;
  /** The parameters of each member, as in a search space. */
  readonly parameters: Readonly<Record<string, JsonObject>>;
  readonly goal: Goal;
  readonly levels: LevelRange;
  readonly sampler: SamplerName;
  readonly maxTrials: number;
  readonly finalRounds: number;
}

/** Tunes them as `tune` does, over real sockets, and returns what the journal has. `onEvent` is told everything. */
export async function tuneTogether(
  study: JointStudy,
  onEvent: (event: TunerEvent) => void = () => undefined,
): Promise<{ readonly records: readonly StudyRecord[]; readonly topology: Topology }> {
  const emulator = await startEmulator({ profile: loadProfile(study.profile) });
  const client = connectGrpc(emulator.grpcUrl);
  const configs: Record<string, ModelConfig> = {};
  for (const { name } of await client.index()) configs[name] = await client.modelConfig(name);
  const topology = topologyOf(study.asked, configs);
  const members = pick(configs, topology.stages);
  const ensembles = pick(
    configs,
    Object.keys(configs).filter((name) => configs[name]?.ensemble_scheduling),
  );
  const [first] = topology.fronts.map(({ model }) => model) as [string, ...string[]];
  const original = jointOriginal(members, ensembles, first);
  const spaces = Object.entries(study.parameters).map(([name, parameters]) => [
    name,
    spaceFromJson({ name, parameters }),
  ]);
  const joint = joinSpaces(Object.fromEntries(spaces), original, first);
  const view = jointSpaceView(joint);
  const asked = topology.fronts.map(async ({ model }) => {
    const config = configs[model] as ModelConfig;
    const spec = { seed: 1, batch: 1 };
    const inputs = await requestsOf(spec, { config, metadata: await client.modelMetadata(model) });
    return { spec, config, inputs, levels: study.levels, timeoutMs: 10_000, requestDistribution: 'constant' } as const;
  });
  const { grpcUrl: url } = emulator;
  const server = {
    ...({ protocol: 'grpc', url, controlProtocol: 'grpc', controlUrl: url } as const),
    ...{ name: 'triton', version: 'emulated', emulated: study.profile },
  };
  const [front, ...others] = await Promise.all(asked);
  if (!front) throw new Error('a topology has a front');
  const fronts = await openFronts({ client, server, tls: undefined, headers: [] }, [front, ...others]);
  const records: StudyRecord[] = [];
  const goal = goalOverModels(study.goal, topology);
  const {
    type: _,
    at: __,
    ...started
  } = studyStarted(goal, {
    ...{
      model: first,
      server,
      original,
      topology,
      levels: study.levels,
      sampler: study.sampler,
      space: jointToJson(joint),
    },
  });
  const models = [...topology.stages, ...Object.keys(ensembles)];
  const waits = { loadTimeoutMs: 20_000, settleTimeoutMs: 20_000 };
  const profile = createProfile({
    ...fronts.traffic,
    topology,
    stats: client,
    clock: realClock,
    percentile: goal.budget?.percentile ?? 99,
    windows: { maxWindows: 4 },
    shorterWindows,
    deviceProbe: metricsProbe(emulator.metricsUrl, topology.stages[0] as string),
  });
  try {
    await tune(
      {
        ...{ study: started, maxTrials: study.maxTrials, finalRounds: study.finalRounds },
        ...{ timeBudgetMs: Number.POSITIVE_INFINITY, allowForeignTraffic: false, earlier: [] },
      },
      {
        adapter: adapterOf({
          build: view.build,
          control: createControl(
            client,
            models.map((model) => ({ model, config: configs[model] as ModelConfig, wasLoaded: true })),
            { clock: realClock, restore: 'config', ...waits },
          ),
          profile,
        }),
        sampler: makeSampler(study.sampler, view, { seed: 1, goal, levels: study.levels }),
        journal: { append: async (record) => void records.push(record) },
        clock: realClock,
      },
      onEvent,
      new AbortController().signal,
    );
  } finally {
    await fronts.close();
    await client.close();
    await emulator.close();
  }
  return { records, topology };
}

const pick = (configs: Readonly<Record<string, ModelConfig>>, names: readonly string[]): Record<string, ModelConfig> =>
  Object.fromEntries(names.map((name) => [name, configs[name] as ModelConfig]));
