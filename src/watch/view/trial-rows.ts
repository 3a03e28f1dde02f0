import { formatMs, formatRate, plainLine } from '#base/format.ts';
import { representative } from '#study/final/final.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeBasis } from '#study/summary/deciding-figures.ts';
import { describeAssignment, describeLevel } from '#study/summary/describe.ts';
import { goalText } from '#study/summary/goal-words.ts';
import { chooseRateUnit } from '#study/summary/rate-unit.ts';
import type { Trial } from '#study/types.ts';
import type { Watched } from './watched.ts';

/** A finished trial. */
export interface TrialRow {
  readonly trial: number;
  readonly server: string;
  readonly config: string;
  /** The figures at its representative level; '' for a failed trial. */
  readonly figures: string;
  readonly standing: 'best' | 'original' | 'met' | 'missed' | 'failed';
  /** The standing in words. */
  readonly standingText: string;
  /** Kind and reason of its failure; '' if it did not fail. */
  readonly failure: string;
}

/** A failed trial, or a server that left. */
export interface FailureRow {
  readonly what: string;
  /** '' for a study of one machine. */
  readonly server: string;
  readonly kind: string;
  readonly reason: string;
}

/** The page shows the latest trials; the report shows all. */
const MAX_TRIALS = 12;
const MAX_FAILURES = 12;
const MAX_LETTERS = 600;
const MAX_LETTERS_IN_ROW = 160;
/** The kind of failure of a server that left. */
const SERVER_LEFT = 'server left';

/** Returns the rows of the latest trials. */
export const trialRows = (state: StudyState, watched: Watched): readonly TrialRow[] =>
  latestTrials(state, watched, MAX_TRIALS).map((trial) => trialRow(state, watched, trial));

/** Returns the trials that ended last, the latest first. */
export function latestTrials(state: StudyState, { finished }: Watched, most: number): readonly Trial[] {
  const byNumber = numbered(state);
  return finished
    .slice(-most)
    .reverse()
    .flatMap((number) => byNumber.get(number) ?? []);
}

export function trialRow(state: StudyState, { serverByTrial }: Watched, trial: Trial): TrialRow {
  const { number, candidate, failure } = trial;
  const standing = formatStanding(state, trial);
  return {
    trial: number,
    server: plainLine(serverByTrial.get(number) ?? ''),
    config: describeAssignment(candidate.assignment),
    figures: failure ? '' : describeStand(state, trial),
    standing,
    standingText: formatStandingText(state, trial),
    failure: failure ? plainLine(`${failure.kind}: ${failure.reason}`, MAX_LETTERS_IN_ROW) : '',
  };
}

const numbered = ({ trials }: StudyState): ReadonlyMap<number, Trial> =>
  new Map(trials.map((trial) => [trial.number, trial]));

function formatStanding({ best, baseline }: StudyState, trial: Trial): TrialRow['standing'] {
  if (trial.failure) return 'failed';
  if (trial === best) return 'best';
  if (trial === baseline) return 'original';
  return trial.feasible ? 'met' : 'missed';
}

const standingTexts = { best: 'best', original: 'original config', failed: 'failed' } as const;

/** Returns the standing of a trial, as the page words it. */
export function formatStandingText(state: StudyState, trial: Trial): string {
  const standing = formatStanding(state, trial);
  if (standing !== 'met' && standing !== 'missed') return standingTexts[standing];
  const { chosen, feasible, measurements } = trial;
  return goalText(state, trial, { measurement: chosen === null ? null : measurements[chosen], feasible });
}

/** Returns what failed last, the latest first: trials, and servers that left. */
export function failureRows(state: StudyState, watched: Watched): readonly FailureRow[] {
  const failed = latestTrials(state, watched, watched.finished.length).filter(({ failure }) => failure !== null);
  return [
    ...leftServers(state).map(({ name, left }) => ({
      what: name,
      server: name,
      kind: SERVER_LEFT,
      reason: plainLine(left ?? '', MAX_LETTERS),
    })),
    ...failed.slice(0, MAX_FAILURES).map(({ number, failure }) => ({
      what: `trial ${number}`,
      server: watched.serverByTrial.get(number) ?? '',
      kind: failure?.kind ?? '',
      reason: plainLine(failure?.reason ?? '', MAX_LETTERS),
    })),
  ];
}

/** Returns the kinds of everything that failed so far. */
export const failureKinds = (state: StudyState): readonly string[] => [
  ...new Set([
    ...state.trials.flatMap(({ failure }) => failure?.kind ?? []),
    ...(leftServers(state).length > 0 ? [SERVER_LEFT] : []),
  ]),
];

const leftServers = ({ servers }: StudyState) => servers.filter(({ left }) => left !== null);

/**
 * Returns `1,234 infer/s at p99 12 ms, concurrency 16`, by the figures that decide, and what was
 * measured if that is different; '' without any.
 */
export function describeStand(state: StudyState, trial: Trial): string {
  const stands = representative(state, trial);
  if (!stands) return '';
  const { throughput, budgetLatencyMs, level } = stands.compared;
  const latency = `p${budgetLatencyMs.percentile} ${formatMs(budgetLatencyMs.value)}`;
  const basis = describeBasis(stands, state.goal.budget);
  return `${formatRate(throughput.value, chooseRateUnit(stands.compared))} at ${latency}, ${describeLevel(level)}${basis}`;
}
