import { openAlarm } from '#base/alarm.ts';
import { realClock } from '#base/clock.ts';
import { formatMessage } from '#base/errors.ts';
import type { InferRequest, Transport } from '#loadgen/types.ts';
import { play } from '#profiler/play.ts';
import type { Profile } from '#tuner/adapter.ts';
import type { MeasuringRule } from '../definition.ts';
import { shorterWindows, studyWindows } from '../triton/profile.ts';

const REQUEST_TIMEOUT_MS = 30_000;

/**
 * Stands for the request that `send` makes: the load generator counts requests, and never looks
 * into one.
 */
const REQUEST: InferRequest = { model: '', version: '', inputs: [], batch: 1 };

/**
 * Measures a server by calling `send` for each request, from this thread. Windows, intervals and
 * verdicts are those of any other measurement; the server's own statistics are missing.
 */
export function profileBySending(
  send: () => Promise<void>,
  { requestTimeoutMs = REQUEST_TIMEOUT_MS, ...rule }: MeasuringRule,
): Profile & { close(): Promise<void> } {
  const alarm = openAlarm();
  const transport: Transport = {
    prepare: (request) => ({ request }),
    send: (_, done) => {
      const deadline = setTimeout(() => end(new Error('no reply came in time'), 'timeout'), requestTimeoutMs);
      let isOver = false;
      const end = (error: unknown, kind: 'status' | 'timeout'): void => {
        if (isOver) return;
        isOver = true;
        clearTimeout(deadline);
        done(error === null ? { ok: true } : { ok: false, kind, message: formatMessage(error) });
      };
      send().then(
        () => end(null, 'status'),
        (error: unknown) => end(error ?? 'the request failed', 'status'),
      );
    },
    close: () => Promise.resolve(),
  };
  return {
    measure: (_, level, { signal, onProgress, budgetMs, purpose, untilNs }) =>
      play(
        {
          percentile: rule.percentile,
          precision: rule.precision,
          maxInFlight: rule.maxInFlight,
          clock: realClock,
          level,
          signal,
          onProgress,
          untilNs,
          ...(budgetMs !== undefined && { budgetMs }),
          windows: { ...studyWindows, ...(purpose && shorterWindows[purpose]) },
        },
        [{ transport, alarm, requests: { model: '', version: '', batch: 1, requests: [REQUEST] }, stats: null }],
      ),
    close: () => alarm.close(),
  };
}
