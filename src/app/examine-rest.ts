import { restWindows } from '#adapter/triton/profile.ts';
import { realClock } from '#base/clock.ts';
import { errorLine } from '#base/error-line.ts';
import { formatMs } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { play } from '#profiler/play.ts';
import { largeBelowMs, noiseFloorIn } from '#study/summary/noise-floor.ts';
import { describeNoise } from '#study/summary/noise-words.ts';
import { takesSequences } from '#triton/config/batching-rules.ts';
import { type Finding, note, ok } from './finding.ts';
import { type OpenServer, readOriginal } from './server/open-server.ts';
import { openTraffic } from './traffic/open-traffic.ts';
import { readRequests } from './traffic/tensor-requests.ts';

/** Defaults of a run. */
const USUAL = { batch: 1, seed: 1, percentile: 99 } as const;
const TIMEOUT_MS = 10_000;
/** One request in flight. */
const alone = { mode: 'concurrency', low: 1, high: 1 } as const;
/** A bad window deserves attention if it is at least this multiple of the median. */
const RESTLESS = 1.5;

/**
 * Sends a loaded model one request at a time for about a second, and reports what that means for
 * budgets. Skips sequences, because each one begun would have to end. Never throws: a model that
 * needs more options to be sent requests is no fault of the server.
 */
export async function* examineRest(
  opened: Pick<OpenServer, 'client' | 'server' | 'tls' | 'headers'>,
  name: string,
): AsyncGenerator<Finding> {
  try {
    const measurement = await measureAtRest(opened, name);
    if (measurement) yield toFinding(measurement, name);
  } catch (error) {
    yield note(name, `idle latency not measured: ${errorLine(error)}`);
  }
}

function toFinding(measurement: Measurement, name: string): Finding {
  const floor = noiseFloorIn(measurement, null);
  if (!floor) {
    const why = measurement.client.reason ?? measurement.failures[0]?.firstMessage ?? 'no request got a reply';
    return note(name, `idle latency not measured: ${why}`);
  }
  const { figures } = describeNoise(floor, null);
  const text = `${figures}; budgets below ${formatMs(floor.highMs)} cannot be met even when idle; below ${formatMs(largeBelowMs(floor))} noise uses up a third of the headroom`;
  return floor.highMs > RESTLESS * floor.medianMs ? note(name, text) : ok(name, text);
}

async function measureAtRest(
  opened: Pick<OpenServer, 'client' | 'server' | 'tls' | 'headers'>,
  name: string,
): Promise<Measurement | null> {
  const original = await readOriginal(opened.client, name);
  if (takesSequences(original.config)) return null;
  const inputs = await readRequests(USUAL, original);
  const requestedTraffic = { spec: USUAL, config: original.config, inputs, levels: alone, timeoutMs: TIMEOUT_MS };
  const traffic = await openTraffic(opened, requestedTraffic);
  try {
    return await play(
      {
        level: { mode: alone.mode, value: alone.low },
        clock: realClock,
        signal: AbortSignal.timeout(TIMEOUT_MS),
        percentile: USUAL.percentile,
        windows: restWindows,
      },
      [{ ...traffic.sending, requests: traffic.requestsFor(original.config), stats: opened.client }],
    );
  } finally {
    await traffic.close();
  }
}
