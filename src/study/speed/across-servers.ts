import type { Measurement } from '#profiler/measurement.ts';
import type { Normal } from '#stats/gaussian-process.ts';
import { DEVIATIONS_AT_95_PERCENT } from '#stats/normal.ts';
import { atSpeed } from './at-speed.ts';
import type { TimedMeasurement } from './evidence.ts';
import { type ServerReading, serverFactors } from './server-factors.ts';
import type { EstimateSpeeds, ServerSpeed, Speeds } from './speeds.ts';

/**
 * A server's factor is updated when it has moved by this share of its standard deviation. Otherwise
 * each reading would change all of the server's measurements.
 */
const WORTH_TELLING = 0.1;

/**
 * Returns the estimate for studies with several servers. The course of each server's speed comes
 * from its own measurements, and the ratio between two servers from measurements made on both. All
 * are compared with the server that measured the baseline, or until then with the first one. With
 * one server it is `estimate` itself. It memoizes the last study, whose measurements are only added
 * to.
 */
export function acrossServers(estimate: EstimateSpeeds): EstimateSpeeds {
  let speeds = new Map<string, OwnSpeeds>();
  let normals = new Map<string, Normal>();
  const scaled = new WeakMap<Measurement, Scaled>();
  return (all) => {
    const reference = (all.find(({ isBaseline }) => isBaseline) ?? all[0])?.server ?? '';
    const groups = Map.groupBy(all, ({ server = '' }) => server);
    if (groups.size < 2) return estimate(all);
    const before = speeds;
    speeds = new Map(
      [...groups]
        .sort(([a], [b]) => Number(b === reference) - Number(a === reference))
        .map(([server, timed]) => {
          const known = before.get(server);
          return [server, known && isSame(known.timed, timed) ? known : ownSpeeds(server, timed, estimate(timed))];
        }),
    );
    const factors = serverFactors(
      [...speeds.values()].flatMap(({ readings }) => readings),
      reference,
    );
    normals = new Map([...factors].map(([server, now]) => [server, steadied(now, normals.get(server))]));
    return joined([...speeds.values()] as [OwnSpeeds, ...OwnSpeeds[]], normals, scaled);
  };
}

interface OwnSpeeds {
  readonly server: string;
  readonly timed: readonly TimedMeasurement[];
  readonly speeds: Speeds;
  readonly readings: readonly ServerReading[];
}

/** A measurement scaled to another speed, and the ratio of that speed to its own. */
interface Scaled {
  readonly times: number;
  readonly measurement: Measurement;
}

const ownSpeeds = (server: string, timed: readonly TimedMeasurement[], speeds: Speeds): OwnSpeeds => ({
  server,
  timed,
  speeds,
  readings: timed.flatMap((each) => toReading(each, server, speeds)),
});

/** Measurements are only added. */
const isSame = (one: readonly TimedMeasurement[], other: readonly TimedMeasurement[]): boolean =>
  one.length === other.length && one.at(-1)?.measurement === other.at(-1)?.measurement;

const steadied = (now: Normal, before: Normal | undefined): Normal =>
  before && Math.abs(now.mean - before.mean) <= WORTH_TELLING * now.sd ? { ...before, sd: now.sd } : now;

function joined(
  ownSpeeds: readonly [OwnSpeeds, ...OwnSpeeds[]],
  factors: ReadonlyMap<string, Normal>,
  scaled: WeakMap<Measurement, Scaled>,
): Speeds {
  const [{ speeds: first }] = ownSpeeds;
  const servers = ownSpeeds.map(({ server }): ServerSpeed => {
    const { mean, sd } = factors.get(server) ?? { mean: 0, sd: 0 };
    const half = DEVIATIONS_AT_95_PERCENT * sd;
    return { server, times: { value: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half) } };
  });
  const byMeasurement = new Map(
    ownSpeeds.flatMap(({ timed, speeds }, index) =>
      timed.map(({ measurement }) => [measurement, { speeds, times: (servers[index] as ServerSpeed).times }] as const),
    ),
  );
  const of: Speeds['of'] = (measurement) => {
    const known = byMeasurement.get(measurement);
    if (!known) return first.of(measurement);
    const { value, low, high } = known.speeds.of(measurement);
    // Relative to that server's usual speed, which equals the first one's usual speed times the
    // factor.
    const scale = first.usual / known.speeds.usual;
    const { times } = known;
    return { value: value * scale * times.value, low: low * scale * times.low, high: high * scale * times.high };
  };
  return {
    of,
    usual: first.usual,
    comparable(measurement) {
      const interval = of(measurement);
      const times = interval.value / first.usual;
      const known = scaled.get(measurement);
      if (known && Math.abs(known.times / times - 1) < SAME) return known.measurement;
      const compared = atSpeed(measurement, interval, first.usual);
      scaled.set(measurement, { times, measurement: compared });
      return compared;
    },
    course: first.course,
    servers,
  };
}

/** Differences below this are rounding. */
const SAME = 1e-9;

/**
 * Returns the logarithm of the throughput at a place, at that server's usual speed; none in an open
 * loop, where the rate is given.
 */
function toReading({ candidate, measurement }: TimedMeasurement, server: string, speeds: Speeds): ServerReading[] {
  const { level, client } = measurement;
  const rate = speeds.comparable(measurement).throughput.value;
  if (level.mode !== 'concurrency' || client.bound || !(rate > 0)) return [];
  return [{ server, place: `${candidate.fingerprint} ${level.value} ${level.batch ?? ''}`, log: Math.log(rate) }];
}
