import { formatMs, formatRate, plainLine } from '../../base/format.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import { representative } from '../../study/final/final.ts';
import type { StudyState } from '../../study/records/state.ts';
import { describeAssignment, describeLevel } from '../../study/summary/describe.ts';
import type { Trial } from '../../study/types.ts';
import type { Watched } from './watched.ts';

/** A finished trial. */
export interface TrialRow {
  readonly trial: number;
  readonly server: string;
  readonly config: string;
  /** The figures at its representative level; '' for a failed trial. */
  readonly figures: string;
  readonly standing: 'best' | 'original' | 'met' | 'missed' | 'failed';
}

/** A failed trial, or a server that left. */
export interface FailureRow {
  readonly what: string;
  readonly kind: string;
  readonly reason: string;
}

/** The page shows the latest trials; the report shows all. */
const MOST_TRIALS = 12;
const MOST_FAILURES = 12;
const MOST_LETTERS = 600;

/** Returns the trials that ended last, the latest first. */
export function trialRows(state: StudyState, { finished, serverOf }: Watched): readonly TrialRow[] {
  const byNumber = numbered(state);
  return finished
    .slice(-MOST_TRIALS)
    .reverse()
    .flatMap((number) => {
      const trial = byNumber.get(number);
      if (!trial) return [];
      return {
        trial: number,
        server: plainLine(serverOf.get(number) ?? ''),
        config: describeAssignment(trial.candidate.assignment),
        figures: trial.failure ? '' : describeStand(state, trial),
        standing: standingOf(state, trial),
      };
    });
}

const numbered = ({ trials }: StudyState): ReadonlyMap<number, Trial> =>
  new Map(trials.map((trial) => [trial.number, trial]));

function standingOf({ best, baseline }: StudyState, trial: Trial): TrialRow['standing'] {
  if (trial.failure) return 'failed';
  if (trial === best) return 'best';
  if (trial === baseline) return 'original';
  return trial.feasible ? 'met' : 'missed';
}

/** Returns what failed last, the latest first: trials, and servers that left. */
export function failureRows(state: StudyState, { finished }: Watched): readonly FailureRow[] {
  const byNumber = numbered(state);
  const failed = finished.flatMap((number) => {
    const trial = byNumber.get(number);
    return trial?.failure ? [trial] : [];
  });
  const trials = failed.slice(-MOST_FAILURES).reverse();
  const servers = state.servers.filter(({ left }) => left !== null);
  return [
    ...servers.map(({ name, left }) => ({
      what: name,
      kind: 'server left',
      reason: plainLine(left ?? '', MOST_LETTERS),
    })),
    ...trials.map(({ number, failure }) => ({
      ...{ what: `trial ${number}`, kind: failure?.kind ?? '' },
      reason: plainLine(failure?.reason ?? '', MOST_LETTERS),
    })),
  ];
}

/** Returns `1,234 infer/s at p99 12 ms, at concurrency 16`; '' if nothing was measured. */
export function describeStand(state: StudyState, trial: Trial): string {
  const measurement = representative(state, trial)?.measurement;
  return measurement ? describeMeasured(measurement) : '';
}

const describeMeasured = ({ throughput, budgetLatencyMs, level }: Measurement): string =>
  `${formatRate(throughput.value)} at p${budgetLatencyMs.percentile} ${formatMs(budgetLatencyMs.value)}, ${describeLevel(level)}`;
