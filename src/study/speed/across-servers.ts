import type { Measurement } from '../../profiler/measurement.ts';
import { DEVIATIONS_AT_95_PERCENT } from '../../stats/normal.ts';
import { atSpeed } from './at-speed.ts';
import type { TimedMeasurement } from './evidence.ts';
import { type ServerReading, serverFactors } from './server-factors.ts';
import type { EstimateSpeeds, ServerSpeed, Speeds } from './speeds.ts';

/**
 * Returns the estimate for studies with several servers: the course of each server's speed by its own measurements, and between servers how
 * many times as fast one is as another, by what was measured on both. With one server it is `estimate` itself.
 */
export const acrossServers =
  (estimate: EstimateSpeeds): EstimateSpeeds =>
  (all) => {
    const groups = [...Map.groupBy(all, ({ server }) => server)];
    const [first, ...others] = groups.map(([server = '', timed]) => ({ server, timed }));
    if (!first || others.length === 0) return estimate(all);
    const estimated = (group: typeof first): OwnSpeeds => ({ ...group, speeds: estimate(group.timed) });
    return joined([estimated(first), ...others.map(estimated)]);
  };

interface OwnSpeeds {
  readonly server: string;
  readonly timed: readonly TimedMeasurement[];
  readonly speeds: Speeds;
}

function joined(own: readonly [OwnSpeeds, ...OwnSpeeds[]]): Speeds {
  const [{ server: reference, speeds: first }] = own;
  const factors = serverFactors(
    own.flatMap(({ server, timed, speeds }) => timed.flatMap((each) => readingOf(each, server, speeds))),
    reference,
  );
  const servers = own.map(({ server }): ServerSpeed => {
    const { mean, sd } = factors.get(server) ?? { mean: 0, sd: 0 };
    const half = DEVIATIONS_AT_95_PERCENT * sd;
    return { server, times: { value: Math.exp(mean), low: Math.exp(mean - half), high: Math.exp(mean + half) } };
  });
  const byMeasurement = new Map(
    own.flatMap(({ timed, speeds }, index) =>
      timed.map(({ measurement }) => [measurement, { speeds, times: (servers[index] as ServerSpeed).times }] as const),
    ),
  );
  const of: Speeds['of'] = (measurement) => {
    const known = byMeasurement.get(measurement);
    if (!known) return first.of(measurement);
    const { value, low, high } = known.speeds.of(measurement);
    // Relative to that server's usual speed, which stands for the first one's usual speed times the factor.
    const scale = first.usual / known.speeds.usual;
    const { times } = known;
    return { value: value * scale * times.value, low: low * scale * times.low, high: high * scale * times.high };
  };
  const scaled = new Map<Measurement, Measurement>();
  return {
    of,
    usual: first.usual,
    comparable(measurement) {
      const known = scaled.get(measurement) ?? atSpeed(measurement, of(measurement), first.usual);
      scaled.set(measurement, known);
      return known;
    },
    course: first.course,
    servers,
  };
}

/** Returns the logarithm of what was served at a place, at that server's usual speed; none in an open loop, where the rate is given. */
function readingOf({ candidate, measurement }: TimedMeasurement, server: string, speeds: Speeds): ServerReading[] {
  const { level, client } = measurement;
  const rate = speeds.comparable(measurement).throughput.value;
  if (level.mode !== 'concurrency' || client.bound || !(rate > 0)) return [];
  return [{ server, place: `${candidate.fingerprint} ${level.value} ${level.batch ?? ''}`, log: Math.log(rate) }];
}
