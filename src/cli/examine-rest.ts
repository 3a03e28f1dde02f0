import { realClock } from '../base/clock.ts';
import { formatMs } from '../base/format.ts';
import { measureLevel } from '../profiler/measure-level.ts';
import type { Measurement } from '../profiler/measurement.ts';
import { largeBelowMs, noiseFloorIn } from '../study/noise-floor.ts';
import { describeNoise } from '../study/noise-words.ts';
import { restWindows } from '../tuner/profile.ts';
import type { AddressOptions } from './connection.ts';
import { failureOf } from './failure.ts';
import { type Finding, note, ok } from './finding.ts';
import { type OpenServer, readOriginal } from './open-server.ts';
import { requestsOf } from './requests.ts';
import { openTraffic } from './traffic-parts.ts';

/** What a run is given where its command line says nothing. */
const USUAL = { batch: 1, seed: 1, percentile: 99 } as const;
const TIMEOUT_MS = 10_000;
/** One in flight, ever. */
const alone = { mode: 'concurrency', low: 1, high: 1 } as const;
/** From here on, in times of the median, what a bad window does deserves attention. */
const RESTLESS = 1.5;

/**
 * Sends a loaded model one request at a time for about a second, and tells what that says of budgets. Sequences are left alone: what began
 * would have to end. Never throws: what cannot be sent without more options is no fault of the server's.
 */
export async function* examineRest(
  opened: Pick<OpenServer, 'client' | 'server' | 'tls'>,
  options: AddressOptions,
  name: string,
): AsyncGenerator<Finding> {
  try {
    const measurement = await measureAtRest(opened, options, name);
    if (measurement) yield findingOf(measurement, name);
  } catch (error) {
    const { line } = failureOf(error, false);
    yield note(name, `nothing was sent to see its latency at rest: ${(line ?? '').replace(/^tritune: /, '')}`);
  }
}

function findingOf(measurement: Measurement, name: string): Finding {
  const floor = noiseFloorIn(measurement, null);
  if (!floor) {
    const why = measurement.client.reason ?? measurement.failures[0]?.firstMessage ?? 'no request was answered';
    return note(name, `its latency at rest could not be seen: ${why}`);
  }
  const { figures } = describeNoise(floor, null);
  const text = `${figures}; the machine alone breaks a budget below ${formatMs(floor.highMs)}, and decides a third or more of one below ${formatMs(largeBelowMs(floor))}`;
  return floor.highMs > RESTLESS * floor.medianMs ? note(name, text) : ok(name, text);
}

async function measureAtRest(
  opened: Pick<OpenServer, 'client' | 'server' | 'tls'>,
  given: AddressOptions,
  name: string,
): Promise<Measurement | null> {
  const original = await readOriginal(opened.client, name);
  if (original.config.sequence_batching) return null;
  const options = { ...given, ...USUAL };
  const inputs = await requestsOf(options, original);
  const asked = { options, config: original.config, inputs, levels: alone, timeoutMs: TIMEOUT_MS };
  const traffic = await openTraffic(opened, asked);
  try {
    return await measureLevel({
      transport: traffic.transport,
      ...traffic.threads,
      requests: traffic.requestsFor(original.config),
      level: { mode: alone.mode, value: alone.low },
      stats: opened.client,
      clock: realClock,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      percentile: USUAL.percentile,
      windows: restWindows,
      alarm: traffic.alarm,
    });
  } finally {
    await traffic.close();
  }
}
