import type { Load, Reading } from './client-run.ts';

/** One way of running perf_analyzer. */
export interface PeerMode {
  readonly by: 'peer';
  readonly name: string;
  readonly options: readonly string[];
}

/** One way of running ours. */
export interface OurMode {
  readonly by: 'us';
  readonly name: string;
  readonly streaming?: boolean;
  readonly sharedMemory?: boolean;
}

/**
 * A figure of both clients, and the target of their ratio, ours over the peer's; compares the best
 * of the modes.
 */
export interface Figure {
  readonly name: string;
  readonly of: (reading: Reading) => number;
  readonly unit: string;
  readonly target: number;
  /**
   * True if a higher figure is better. The ratio should then be at least the target, else at most.
   */
  readonly higher: boolean;
  readonly ours: OurMode;
  readonly modes: readonly PeerMode[];
}

/** One load, sent repeatedly by us and by each mode in turn. */
export interface Experiment {
  readonly load: Load;
  readonly figures: readonly Figure[];
}

const unary: OurMode = { by: 'us', name: 'unary' };
const ourStreaming: OurMode = { by: 'us', name: 'streaming', streaming: true };
const ourShared: OurMode = { by: 'us', name: 'shared memory', sharedMemory: true };

const sync: PeerMode = { by: 'peer', name: 'sync', options: ['--sync'] };
/** One thread drives all requests; the default of a thread per request costs more (measured). */
const async1: PeerMode = { by: 'peer', name: 'async', options: ['--async', '--max-threads', '1'] };
const async2: PeerMode = { by: 'peer', name: 'async, 2 threads', options: ['--async', '--max-threads', '2'] };
const streaming: PeerMode = {
  by: 'peer',
  name: 'streaming',
  options: ['--async', '--streaming', '--max-threads', '1'],
};
const shared: PeerMode = { by: 'peer', name: 'sync, shared memory', options: ['--sync', '--shared-memory', 'system'] };
const asyncShared: PeerMode = {
  by: 'peer',
  name: 'async, shared memory',
  options: ['--async', '--max-threads', '1', '--shared-memory', 'system'],
};

const cpu = (name: string, target: number, modes: readonly PeerMode[], ours = unary): Figure => ({
  name: `CPU per request, ${name}`,
  of: ({ cpuUs }) => cpuUs,
  unit: 'us',
  target,
  higher: false,
  ours,
  modes,
});
const throughput = (name: string, target: number, modes: readonly PeerMode[], ours = unary): Figure => ({
  name: `throughput, ${name}`,
  of: ({ perSecond }) => perSecond,
  unit: '/s',
  target,
  higher: true,
  ours,
  modes,
});
const p50 = (name: string, modes: readonly PeerMode[], ours = unary): Figure => ({
  name: `p50 latency, ${name}`,
  of: ({ p50Us }) => p50Us,
  unit: 'us',
  target: 1.02,
  higher: false,
  ours,
  modes,
});

const small = { model: 'floats64', floats: 64 };
const image = { model: 'image', floats: 153_600 };
const unaryModes = [sync, async1];

export const experiments: readonly Experiment[] = [
  {
    load: { protocol: 'grpc', ...small, concurrency: 64 },
    figures: [
      cpu('gRPC, 64 in flight', 1 / 4, [sync, async1, streaming]),
      throughput('gRPC, 64 in flight', 1.2, [sync, async1, streaming]),
      cpu('gRPC streaming, 64 in flight', 1 / 4, [streaming], ourStreaming),
    ],
  },
  {
    load: { protocol: 'http', ...small, concurrency: 64 },
    figures: [cpu('HTTP, 64 in flight', 1 / 2, [sync, async2]), throughput('HTTP, 64 in flight', 1.2, [sync, async2])],
  },
  {
    load: { protocol: 'grpc', ...small, concurrency: 1 },
    figures: [p50('gRPC, 1 in flight', unaryModes), p50('gRPC streaming, 1 in flight', [streaming], ourStreaming)],
  },
  {
    load: { protocol: 'http', ...small, concurrency: 1 },
    figures: [p50('HTTP, 1 in flight', unaryModes)],
  },
  {
    load: { protocol: 'grpc', ...image, concurrency: 8 },
    figures: [
      throughput('gRPC, 600 KiB', 1, [sync, async2]),
      throughput('gRPC, 600 KiB in shared memory', 1, [shared, asyncShared], ourShared),
      cpu('gRPC, 600 KiB in shared memory', 1 / 2, [shared, asyncShared], ourShared),
    ],
  },
  {
    load: { protocol: 'http', ...image, concurrency: 8 },
    figures: [
      throughput('HTTP, 600 KiB', 1, [sync]),
      throughput('HTTP, 600 KiB in shared memory', 1, [shared, asyncShared], ourShared),
      cpu('HTTP, 600 KiB in shared memory', 1 / 2, [shared, asyncShared], ourShared),
    ],
  },
];

/** Returns an open loop at half of what the server can do, judging by the rates seen. */
export const openLoopLoad = (capacityPerSecond: number): Load => ({
  protocol: 'grpc',
  ...small,
  concurrency: 0,
  perSecond: Math.round(capacityPerSecond / 2),
});
/**
 * Its async mode does not limit requests in flight: at a rate that it cannot keep, it swamps the
 * server and does not end.
 */
export const openLoopModes: readonly [OurMode, PeerMode] = [
  unary,
  { by: 'peer', name: 'sync, 64 threads', options: ['--sync', '--max-threads', '64'] },
];
