import { describe, expect, it } from 'vitest';
import { seededRandom, standardNormal } from '#base/random.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Candidate } from '#space/types.ts';
import type { TimedMeasurement } from '#study/speed/evidence.ts';
import { fitSpeeds, type Speeds, steadySpeeds } from '#study/speed/speeds.ts';
import { measured, originalConfig, toCandidate } from './builders.ts';

/** Microseconds that one execution takes, by the size of its batch and the instances beside it. */
type Execution = (batch: number, instances: number) => number;

/** A base and a part for each request of the batch; instances crowd each other a little. */
const smooth: Execution = (batch, instances) => (1500 + 400 * batch) * (1 + 0.1 * Math.log2(instances));

interface Session {
  readonly execution?: Execution;
  /** By the seconds since the study began. */
  readonly speed: (seconds: number) => number;
  /** Of the host's own work, where that is read: 'as-the-server', or a course of its own. */
  readonly host?: 'as-the-server' | ((seconds: number) => number);
  /** The scatter of the host's own work; more where others use its cores. */
  readonly hostNoise?: number;
  readonly kind?: 'KIND_CPU' | 'KIND_GPU';
  /** False for servers that tell nothing but what clients see. */
  readonly statistics?: boolean;
  readonly seed?: number;
  /** Each config is measured at one level, and the original config again after each so many. */
  readonly returnsAfter?: number;
  readonly measurements?: number;
}

const SECONDS_EACH = 4;
const NOISE = 0.02;
const HOST_WORK_US = 2000;

function configWith(instances: number, batch: number, kind: 'KIND_CPU' | 'KIND_GPU'): Candidate {
  const config = { ...originalConfig, max_batch_size: batch, instance_group: [{ kind, count: instances }] };
  return toCandidate(config, { instances, batch });
}

/**
 * Everything that a study would have measured, one config after another, on a machine of that
 * speed.
 */
function sessionOf({
  execution = smooth,
  speed,
  host,
  hostNoise = NOISE,
  kind = 'KIND_CPU',
  statistics = true,
  seed = 1,
  returnsAfter = 4,
  measurements = 20,
}: Session): TimedMeasurement[] {
  const random = seededRandom(seed);
  const noisy = (value: number, sd = NOISE): number => value * Math.exp(sd * standardNormal(random));
  const configs = [1, 2, 4].flatMap((instances) => [2, 8, 4, 16].map((batch) => [instances, batch] as const));
  let next = 1;
  return Array.from({ length: measurements }, (_, index): TimedMeasurement => {
    const isReturn = index % (returnsAfter + 1) === 0;
    const [instances, batch] = isReturn
      ? ([1, 2] as const)
      : (configs[next++ % configs.length] as readonly [number, number]);
    const atSeconds = SECONDS_EACH * (index + 1);
    const at = speed(atSeconds);
    const executionUs = execution(batch, instances) / at;
    const inFlight = 2 * instances * batch;
    const throughput = noisy((1e6 * instances * batch) / executionUs);
    const latencyMs = (1e3 * inFlight) / throughput;
    const executions = Math.round(throughput / batch);
    const hostSpeed = host === 'as-the-server' ? at : host?.(atSeconds);
    const measurement = measured(inFlight, throughput, latencyMs, {
      server: statistics ? serverOf([{ size: batch, executions, meanExecutionUs: noisy(executionUs) }]) : null,
      ...(hostSpeed !== undefined && { hostWorkUs: noisy(HOST_WORK_US / hostSpeed, hostNoise) }),
    });
    return { candidate: configWith(instances, batch, kind), measurement, atSeconds };
  });
}

function serverOf(batches: NonNullable<Measurement['server']>['batches']): Measurement['server'] {
  const executionCount = batches.reduce((sum, { executions }) => sum + executions, 0);
  const meanUs = batches.reduce((sum, each) => sum + each.executions * each.meanExecutionUs, 0) / executionCount;
  return {
    queueUs: meanUs,
    computeInputUs: 50,
    computeInferUs: meanUs,
    computeOutputUs: 50,
    overheadUs: 20,
    requestUs: 2 * meanUs + 120,
    successCount: 1000,
    inferenceCount: 1000,
    executionCount,
    failCount: 0,
    cache: { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 },
    batches,
  };
}

/** The estimated speeds of the measurements after a moment, over those before it. */
function changeAt(seconds: number, { course }: Speeds): number {
  const mean = (some: Speeds['course']): number =>
    some.reduce((sum, { speed }) => sum + Math.log(speed.value), 0) / some.length;
  const after = mean(course.filter(({ atSeconds }) => atSeconds > seconds));
  return Math.exp(after - mean(course.filter(({ atSeconds }) => atSeconds <= seconds)));
}

/** The largest error of the estimated speeds, as a logarithm, up to a factor that all share. */
function worstError({ course }: Speeds, truth: (seconds: number) => number): number {
  const errors = course.map(({ atSeconds, speed }) => Math.log(speed.value / truth(atSeconds)));
  const middle = errors.reduce((sum, error) => sum + error, 0) / errors.length;
  return Math.max(...errors.map((error) => Math.abs(error - middle)));
}

const steady = (): number => 1;
const STEP_AT = 42;
const slowFrom =
  (from: number, slow = 0.6) =>
  (seconds: number): number =>
    seconds > from ? slow : 1;
/** Far apart: the first draws of near ones are alike. */
const seeds = [1, 2, 3, 4, 5, 6].map((each) => (each * 0x9e3779b1) | 0);

describe('the speed of machine and server', () => {
  it.each([
    ['with statistics alone', {}],
    ['without statistics', { statistics: false }],
    ['with the host’s own work', { host: 'as-the-server' }],
    ['on a GPU', { kind: 'KIND_GPU' }],
  ] as const)('is 1 within 2 %% throughout on a steady machine, and corrects nothing: %s', (_, more) => {
    for (const seed of seeds) {
      const all = sessionOf({ speed: steady, seed, ...more });
      const { course, usual, comparable } = fitSpeeds(all);
      for (const { speed } of course) expect(Math.abs(speed.value - 1), `seed ${seed}`).toBeLessThan(0.02);
      expect(usual).toBeCloseTo(1, 1);
      for (const { measurement } of all) expect(comparable(measurement)).toBe(measurement);
    }
  });

  it.each([
    ['from execution times and repeated readings', {}],
    ['from repeated readings alone', { statistics: false, returnsAfter: 1 }],
    ['from the host’s own work beside them', { host: 'as-the-server' }],
    ['beside a host that is disturbed for moments', { host: 'as-the-server', hostNoise: 0.12 }],
    ['on a GPU', { kind: 'KIND_GPU' }],
  ] as const)('steps to 0.6 where the machine does, within 8 %%: %s', (_, more) => {
    for (const seed of seeds) {
      const change = changeAt(STEP_AT, fitSpeeds(sessionOf({ speed: slowFrom(STEP_AT), seed, ...more })));
      expect(Math.abs(Math.log(change / 0.6)), `seed ${seed}: ${change}`).toBeLessThan(0.08);
    }
  });

  it('comes back where the machine does', () => {
    const speed = (seconds: number): number => (seconds > 30 && seconds < 70 ? 0.6 : 1);
    for (const seed of seeds) {
      const found = fitSpeeds(sessionOf({ speed, seed, measurements: 28 }));
      expect(worstError(found, speed), `seed ${seed}`).toBeLessThan(0.12);
    }
  });

  it('falls as a machine heats up', () => {
    const speed = (seconds: number): number => 0.75 + 0.25 * Math.exp(-seconds / 40);
    for (const seed of seeds) {
      const found = fitSpeeds(sessionOf({ speed, seed, host: 'as-the-server', measurements: 28 }));
      expect(worstError(found, speed), `seed ${seed}`).toBeLessThan(0.08);
    }
  });

  it('is 1 within 6 % on a steady machine whose host is disturbed for moments', () => {
    for (const seed of seeds) {
      const { course } = fitSpeeds(sessionOf({ speed: steady, host: 'as-the-server', hostNoise: 0.12, seed }));
      for (const { speed } of course) expect(Math.abs(Math.log(speed.value)), `seed ${seed}`).toBeLessThan(0.06);
    }
  });

  it('is not that of the host where a GPU serves, whose own speed has not changed', () => {
    for (const seed of seeds) {
      const { course } = fitSpeeds(sessionOf({ speed: steady, host: slowFrom(STEP_AT), kind: 'KIND_GPU', seed }));
      for (const { speed } of course) expect(Math.abs(speed.value - 1), `seed ${seed}`).toBeLessThan(0.04);
    }
  });

  it.each([
    ['pads batches to the next power of four', (batch: number) => 1500 + 400 * 4 ** Math.ceil(Math.log2(batch) / 2)],
    [
      'falls off a cliff with batches of more than eight',
      (batch: number) => (1500 + 400 * batch) * (batch > 8 ? 3 : 1),
    ],
  ])('is 1 for a model that %s', (_, execution) => {
    for (const seed of seeds) {
      const { course } = fitSpeeds(sessionOf({ execution, speed: steady, seed }));
      for (const { speed } of course) expect(Math.abs(Math.log(speed.value)), `seed ${seed}`).toBeLessThan(0.06);
    }
  });

  it('is 1 where a load is raised over a cliff, with throughput falling and executions of small batches as they were', () => {
    // Of the emulator's profile `cliff`: the original config at rising levels, the first request of
    // each pair alone.
    const sweep = [
      ...[
        [1, 200],
        [2, 200],
        [4, 377],
        [8, 678],
        [16, 1126],
      ],
      ...[
        [32, 709],
        [64, 913],
        [48, 834],
        [56, 873],
        [52, 854],
        [47, 829],
      ],
    ] as [number, number][];
    const candidate = configWith(1, 64, 'KIND_GPU');
    const all = sweep.map(([level, throughput], index): TimedMeasurement => {
      const size = Math.max(1, level - 1);
      const times = size <= 16 ? 5000 + 300 * (size - 1) : 21_000 + 750 * (size - 5);
      const batches = [
        { size: 1, executions: 90, meanExecutionUs: 5000 },
        ...(size > 1 ? [{ size, executions: 90, meanExecutionUs: times }] : []),
      ];
      const measurement = measured(level, throughput, (1e3 * level) / throughput, { server: serverOf(batches) });
      return { candidate, measurement, atSeconds: SECONDS_EACH * (index + 1) };
    });
    for (const { speed } of fitSpeeds(all).course) expect(Math.abs(Math.log(speed.value))).toBeLessThan(0.1);
  });

  it('is 1 at every moment of sweeps of the levels, though throughput stops growing where instances are busy', () => {
    const levels = [1, 2, 4, 8, 16, 32, 64];
    const all = [1, 2, 3, 4].flatMap((instances, trial) =>
      levels.map((level, index): TimedMeasurement => {
        const throughput = Math.min(110 * instances, 100 * level);
        const measurement = measured(level, throughput, (1e3 * level) / throughput);
        const atSeconds = SECONDS_EACH * (trial * levels.length + index + 1);
        return { candidate: configWith(instances, 1, 'KIND_CPU'), measurement, atSeconds };
      }),
    );
    for (let made = 2; made <= all.length; made++) {
      const { course } = fitSpeeds(all.slice(0, made));
      for (const { speed } of course) expect(Math.abs(Math.log(speed.value)), `after ${made}`).toBeLessThan(0.05);
    }
  });

  it('is 1 where instances take turns on a device, and levels differ in how many of them are busy', () => {
    // Of a grid of a real GPU's law: instances, batch, level, microseconds of an execution.
    const sweep = [
      [1, 1, 1, 2030],
      [1, 15, 16, 5458],
      [2, 4, 7, 2673],
      [4, 4, 16, 4761],
      [2, 16, 27, 5728],
      [2, 16, 32, 5728],
      [3, 16, 40, 5704],
      [3, 16, 48, 8344],
      [3, 16, 48, 8417],
    ] as const;
    const all = sweep.map(([instances, batch, level, meanExecutionUs], index): TimedMeasurement => {
      const busy = Math.min(instances, Math.max(1, Math.floor(level / batch)));
      const throughput = (1e6 * busy * batch) / meanExecutionUs;
      const server = serverOf([{ size: batch, executions: 100, meanExecutionUs }]);
      const measurement = measured(level, throughput, (1e3 * level) / throughput, { server });
      return { candidate: configWith(instances, 16, 'KIND_GPU'), measurement, atSeconds: SECONDS_EACH * (index + 1) };
    });
    for (let made = 2; made <= all.length; made++) {
      const { course } = fitSpeeds(all.slice(0, made));
      for (const { speed } of course) expect(Math.abs(Math.log(speed.value)), `after ${made}`).toBeLessThan(0.06);
    }
  });

  it('says how sure it is: the interval holds the truth as a rule', () => {
    const speed = slowFrom(STEP_AT);
    const held = seeds.flatMap((seed) => {
      const { course } = fitSpeeds(sessionOf({ speed, seed, host: 'as-the-server' }));
      const first = course.filter(({ atSeconds }) => atSeconds <= SECONDS_EACH + 60);
      // Relative to the geometric mean over the first minute.
      const reference = first.reduce((sum, { atSeconds }) => sum + Math.log(speed(atSeconds)), 0) / first.length;
      return course.map((each) => {
        const truth = speed(each.atSeconds) / Math.exp(reference);
        return each.speed.low <= truth && truth <= each.speed.high;
      });
    });
    expect(held.filter(Boolean).length / held.length).toBeGreaterThan(0.9);
  });

  it('passes over what the client limited, and has nothing to say of one measurement, or of none', () => {
    const all = sessionOf({ speed: slowFrom(STEP_AT) });
    const bound = all.map((each) => ({
      ...each,
      measurement: { ...each.measurement, client: { ...each.measurement.client, bound: true, reason: 'x' } },
    }));
    expect(fitSpeeds(bound).course.map(({ speed }) => speed.value)).toEqual(all.map(() => 1));
    expect(fitSpeeds(all.slice(0, 1)).course.map(({ speed }) => speed.value)).toEqual([1]);
    expect(fitSpeeds([])).toMatchObject({ usual: 1, course: [] });
  });

  it('has the usual speed from the search alone', () => {
    const all = sessionOf({ speed: slowFrom(STEP_AT), host: 'as-the-server' });
    const isSlow = ({ atSeconds }: TimedMeasurement): boolean => atSeconds > STEP_AT;
    const inFinal = all.map((each) => ({ ...each, isFinal: isSlow(each) }));
    const [first] = all as [TimedMeasurement];
    const found = fitSpeeds(inFinal);
    expect(found.usual).toBeCloseTo(found.of(first.measurement).value, 1);
    expect(found.comparable(first.measurement)).toBe(first.measurement);
  });

  it('is not looked for where the study takes it for steady', () => {
    const all = sessionOf({ speed: slowFrom(STEP_AT), host: 'as-the-server' });
    const { comparable, course } = steadySpeeds(all);
    expect(course.map(({ speed }) => speed.value)).toEqual(all.map(() => 1));
    for (const { measurement } of all) expect(comparable(measurement)).toBe(measurement);
  });
});

describe('what is comparable', () => {
  const all = sessionOf({ speed: slowFrom(20), host: 'as-the-server', measurements: 24 });
  /** The usual speed is the slow one: what was measured before is what is scaled. */
  const fast = all[1] as TimedMeasurement;
  const speeds = fitSpeeds(all);
  const factor = speeds.of(fast.measurement).value / speeds.usual;

  it('are all times, by the ratio of the speeds, and the throughput of a closed loop', () => {
    expect(factor).toBeGreaterThan(1.4);
    const [measurement, scaled] = [fast.measurement, speeds.comparable(fast.measurement)];
    expect(scaled.throughput.value).toBeCloseTo(measurement.throughput.value / factor, 6);
    expect(scaled.budgetLatencyMs.value).toBeCloseTo(measurement.budgetLatencyMs.value * factor, 6);
    for (const name of ['avg', 'p50', 'p90', 'p95', 'p99'] as const)
      expect(scaled.latencyMs[name]).toBeCloseTo(measurement.latencyMs[name] * factor, 6);
    for (const name of ['queueUs', 'computeInferUs', 'requestUs'] as const)
      expect(scaled.server?.[name]).toBeCloseTo((measurement.server?.[name] ?? 0) * factor, 6);
    expect(scaled.server?.batches[0]?.meanExecutionUs).toBeCloseTo(
      (measurement.server?.batches[0]?.meanExecutionUs ?? 0) * factor,
      6,
    );
    expect(scaled).toMatchObject({ level: measurement.level, requests: measurement.requests });
  });

  it('have intervals that are wider by what is not known of the speed', () => {
    const relativeWidth = ({ value, low, high }: Measurement['throughput']): number => (high - low) / value;
    const [measurement, scaled] = [fast.measurement, speeds.comparable(fast.measurement)];
    const doubt = speeds.of(measurement);
    expect(relativeWidth(scaled.throughput)).toBeGreaterThan(relativeWidth(measurement.throughput));
    expect(relativeWidth(scaled.throughput)).toBeGreaterThan(0.9 * relativeWidth(doubt));
    expect(relativeWidth(scaled.budgetLatencyMs)).toBeGreaterThan(relativeWidth(measurement.budgetLatencyMs));
  });

  it('are the times alone in an open loop, where what is served is what was asked for', () => {
    const open = all.map((each) => ({
      ...each,
      measurement: {
        ...each.measurement,
        level: { mode: 'request-rate', value: each.measurement.level.value } as const,
      },
    }));
    const found = fitSpeeds(open);
    const { measurement } = open[1] as TimedMeasurement;
    const scaled = found.comparable(measurement);
    expect(scaled).not.toBe(measurement);
    expect(scaled.throughput).toEqual(measurement.throughput);
    expect(scaled.budgetLatencyMs.value / measurement.budgetLatencyMs.value).toBeGreaterThan(1.4);
  });

  it('are the same objects each time, and what is not of the study is as it is', () => {
    expect(speeds.comparable(fast.measurement)).toBe(speeds.comparable(fast.measurement));
    const foreign = measured(4, 100, 10);
    expect(speeds.of(foreign)).toEqual({ value: 1, low: 1, high: 1 });
  });
});
