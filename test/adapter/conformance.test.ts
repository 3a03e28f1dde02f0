import { describe, expect, it } from 'vitest';
import { tritonAdapter } from '#adapter/triton/adapter.ts';
import { createControl } from '#adapter/triton/control.ts';
import { configDocuments } from '#adapter/triton/documents.ts';
import { createProfile } from '#adapter/triton/profile.ts';
import { realClock } from '#base/clock.ts';
import { startEmulator } from '#emulator/start-emulator.ts';
import { prepareInputs } from '#loadgen/inputs.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import { toModelConfig, toOriginal } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import type { Assignment } from '#space/types.ts';
import { viewSpace } from '#study/search/samplers/space-view.ts';
import { type AdapterSubject, type AdapterUnderTest, adapterConformance } from '#testing/adapter-conformance.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { ServerAdapter } from '#tuner/adapter.ts';
import { scenarios } from '../../lab/problems/problems.ts';
import { OfflineWorld } from '../../lab/problems/world.ts';
import { smallProfile } from '../support/emulator.ts';

const level = { mode: 'concurrency', value: 2 } as const;

/** One model of an emulator on real sockets, which takes no more than four instances. */
async function openTriton(): Promise<AdapterUnderTest> {
  const emulator = await startEmulator({ profile: smallProfile({ model: { max_instances: 4 } }) });
  const client = connectGrpc(emulator.grpcUrl);
  const [config, metadata] = await Promise.all([client.modelConfig('m'), client.modelMetadata('m')]);
  const transport = openTransport('grpc', { url: emulator.grpcUrl, timeoutMs: 10_000 });
  const original = toOriginal(config);
  const inputs = prepareInputs(metadata, config, { seed: 1, batch: 1, kind: 'zero' });
  const space = spaceFromJson({
    name: 'small',
    parameters: { max_batch_size: [2, 4], instances: [1, 2, 3, 9] },
    rules: [{ require: 'instances * max_batch_size != 12', message: 'not 12 at once' }],
  });
  const waits = { loadTimeoutMs: 10_000, settleTimeoutMs: 10_000 };
  return {
    adapter: tritonAdapter({
      identity: {
        name: 'triton',
        version: '',
        emulated: null,
        url: emulator.grpcUrl,
        protocol: 'grpc',
        controlUrl: emulator.grpcUrl,
        controlProtocol: 'grpc',
      },
      original,
      space: viewSpace(space, original),
      control: createControl(client, [{ model: 'm', config, wasLoaded: true }], {
        clock: realClock,
        restore: 'config',
        ...waits,
      }),
      profile: createProfile({
        transport,
        requestsFor: (candidate) => inputs.forConfig(toModelConfig(candidate)),
        stats: client,
        clock: realClock,
        percentile: 99,
        precision: 0.5,
        windows: { minRequests: 20, maxWindows: 2, maxWarmUpMs: 500 },
      }),
      documents: (candidate) => configDocuments(candidate, 'm', (name) => name),
    }),
    close: async () => {
      await transport.close();
      await client.close();
      await emulator.close();
    },
  };
}

const triton: AdapterSubject = {
  open: openTriton,
  assignments: [
    { max_batch_size: 4, instances: 2 },
    { max_batch_size: 2, instances: 3 },
  ],
  illegal: { max_batch_size: 4, instances: 3 },
  refused: { max_batch_size: 2, instances: 9 },
  level,
};

/** A made-up model in virtual time. */
function replayOf(): AdapterSubject {
  const landscape = scenarios(6).find((each) => refusedIn(each) !== undefined) ?? scenarios(1)[0];
  if (!landscape) throw new Error('there is no made-up model');
  const others = [...landscape.space.assignments()].filter((assignment) => {
    const built = landscape.space.build(assignment);
    return built.legal && landscape.refusal(built.candidate) === null;
  });
  const distinct = others.filter((assignment) => {
    const built = landscape.space.build(assignment);
    return built.legal && built.candidate.fingerprint !== landscape.baseline.fingerprint;
  });
  const refused = refusedIn(landscape);
  return {
    open: async () => {
      const { adapter } = new OfflineWorld(landscape, { seed: 1, statistics: true });
      return { adapter, close: async () => undefined };
    },
    assignments: [distinct[0], distinct.at(-1)] as [Assignment, Assignment],
    ...(refused && { refused }),
    level,
  };
}

function refusedIn({ space, refusal }: ReturnType<typeof scenarios>[number]): Assignment | undefined {
  return [...space.assignments()].find((assignment) => {
    const built = space.build(assignment);
    return built.legal && refusal(built.candidate) !== null;
  });
}

describe.each([
  ["Triton's", triton],
  ['the replay', replayOf()],
])('%s adapter', (_, subject) => {
  it.each(adapterConformance(subject).map(({ name, run }) => [name, run] as const))('%s', async (_name, run) => {
    await run();
  });
});

describe('the suite for adapters', () => {
  const broken = async (name: string, change: Partial<ServerAdapter>): Promise<void> => {
    const subject: AdapterSubject = {
      ...triton,
      open: async () => {
        const { adapter, close } = await openTriton();
        return { adapter: { ...adapter, ...change }, close };
      },
    };
    const check = adapterConformance(subject).find((each) => each.name.startsWith(name));
    await check?.run();
  };

  it.each<[string, string, Partial<ServerAdapter>, RegExp]>([
    ['says nothing of differences', 'tells two', { diff: () => [] }, /no difference to the original/],
    ['emits files anywhere', 'emits files', { documents: () => [{ path: '../x', text: '' }] }, /leads out of/],
    ['has no name', 'says what', { name: '' }, /no name/],
    ['cannot be reached', 'says what', { isReachable: async () => false }, /cannot be reached/],
    ['sees changes that are none', 'applies', { changed: async () => 'another' }, /somebody has changed/],
    [
      'takes what is illegal',
      'says why',
      { build: () => ({ legal: true, candidate: toOriginal({ name: 'm' }) }) },
      /illegal assignment has a candidate/,
    ],
    [
      'puts nothing back',
      'puts back',
      { restore: async () => ({ how: 'nothing-changed', verified: true, detail: '' }) },
      /the original does not serve again/,
    ],
  ])('finds one that %s', async (_, name, change, words) => {
    await expect(broken(name, change)).rejects.toThrow(words);
  });
});
