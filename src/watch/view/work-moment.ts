import type { LoadLevel } from '#loadgen/types.ts';
import type { SingleWindowFigures } from '#profiler/progress.ts';
import type { TunerEvent } from '#tuner/seams.ts';

/** One window of the measurement under way. */
export interface SeenWindow {
  readonly window: number;
  /** infer/s of this window alone, and the percentile that the rule looks at, in milliseconds. */
  readonly throughput: number;
  readonly latencyMs: number;
}

/** The state of a server's piece of work, as last reported by its worker. */
export interface WorkMoment {
  readonly state: 'at work' | 'loading' | 'warming' | 'measuring' | 'held up' | 'once more';
  readonly level: LoadLevel | null;
  /** The seen windows of this level; heartbeats may skip some. */
  readonly windows: readonly SeenWindow[];
}

/** Work without any report yet. */
export const AT_WORK: WorkMoment = { state: 'at work', level: null, windows: [] };

/** The maximum number of windows that a page shows for a measurement. */
const MAX_WINDOWS = 40;

/** Returns the moment after an event of the work; the same object if the event is no news. */
export function momentAfter(before: WorkMoment, event: TunerEvent): WorkMoment {
  switch (event.type) {
    case 'applying':
      return before.state === 'loading' ? before : { state: 'loading', level: null, windows: [] };
    case 'measuring':
      return isAt(before, event.level) ? before : { state: 'warming', level: event.level, windows: [] };
    case 'starved':
      return before.state === 'once more' ? before : { state: 'once more', level: event.level, windows: [] };
    case 'progress':
      return progressed(before, event);
    default:
      return before;
  }
}

function progressed(before: WorkMoment, { level, progress }: Extract<TunerEvent, { type: 'progress' }>): WorkMoment {
  const windows = isAt(before, level) ? before.windows : [];
  if (progress.phase === 'warm-up' || progress.phase === 'first-answers')
    return before.state === 'warming' && isAt(before, level) ? before : { state: 'warming', level, windows: [] };
  if (progress.phase === 'void') return before.state === 'held up' ? before : { state: 'held up', level, windows };
  const { window, latest: figures } = progress;
  const last = windows.at(-1);
  if (before.state === 'measuring' && last?.window === window) return before;
  // Counting restarts if a level is measured under another workload.
  const earlier = last && last.window < window ? windows : [];
  return { state: 'measuring', level, windows: [...earlier, seen(window, figures)].slice(-MAX_WINDOWS) };
}

const seen = (window: number, { throughput, latencyPercentileMs }: SingleWindowFigures): SeenWindow => ({
  window,
  throughput,
  latencyMs: latencyPercentileMs,
});

const isAt = ({ level }: WorkMoment, other: LoadLevel): boolean =>
  level !== null && level.value === other.value && level.batch === other.batch;
