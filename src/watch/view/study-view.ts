import { formatMs, formatRatio, plainLine } from '#base/format.ts';
import { representative } from '#study/final/final.ts';
import type { StudyState } from '#study/records/state.ts';
import { usualTrials } from '#study/search/samplers/registry.ts';
import { describeGainIn, describeObjectives } from '#study/summary/describe.ts';
import { searchSecondsLeft, searchShare } from '#study/summary/search-progress.ts';
import { isOriginal } from '#study/summary/verdict.ts';
import { type ServerRow, serverRows } from './server-rows.ts';
import { describeStand, type FailureRow, failureKinds, failureRows, type TrialRow, trialRows } from './trial-rows.ts';
import type { StudyHead, Watched } from './watched.ts';

/** One study on the page: its texts and figures. */
export interface StudyView {
  readonly study: string;
  readonly group: string | null;
  readonly status: StudyHead['status'];
  readonly startedAt: string | null;
  /** The current activity, such as `tuning`, or why it ended. */
  readonly phase: string;
  readonly model: string;
  readonly server: string;
  readonly goal: string;
  /** The best so far, and the original, as one sentence each. */
  readonly best: string;
  readonly original: string;
  /** The warnings that a reader needs before any figure; '' for none. */
  readonly notice: string;
  readonly progress: ProgressView;
  readonly servers: readonly ServerRow[];
  /** The trials that ended last, the latest first. */
  readonly trials: readonly TrialRow[];
  readonly failures: readonly FailureRow[];
  /** The kinds of everything that failed, also of what is not among the latest. */
  readonly failureKinds: readonly string[];
  /** Changes with the front; null if there is nothing to draw. */
  readonly chart: number | null;
}

export interface ProgressView {
  /** The finished trials of the search, and the failed ones. */
  readonly done: number;
  readonly failed: number;
  /** null for no limit. */
  readonly maxTrials: number | null;
  /** The finished share of the search, 0 to 1; null if unknown. */
  readonly share: number | null;
  readonly elapsedSeconds: number;
  /** True if the study's time is running. */
  readonly isRunning: boolean;
  readonly secondsLeft: number | null;
}

/** Returns the page's view of a study. */
export function studyView(watched: Watched): StudyView {
  const { head, state, records } = watched;
  const { study, group, status, startedAt } = head;
  return {
    study,
    group,
    status,
    startedAt,
    phase: formatPhase(watched),
    model: state?.started.model ?? '',
    server: state ? serverText(state) : '',
    goal: state ? goalText(state) : '',
    ...standing(state),
    notice: formatNotice(watched),
    progress: toProgress(watched),
    servers: serverRows(watched),
    trials: state ? trialRows(state, watched) : [],
    failures: state ? failureRows(state, watched) : [],
    failureKinds: state ? failureKinds(state) : [],
    chart: state && hasFigures(state) ? records : null,
  };
}

const hasFigures = ({ trials }: StudyState): boolean =>
  trials.some(({ measurements }) => measurements.some(({ throughput }) => throughput.value > 0));

/** Longer texts from a server are cut. */
const MAX_LETTERS = 400;

function formatPhase({ state, progress, head }: Watched): string {
  if (state?.finished) return `ended: ${plainLine(state.finished.stopReason, MAX_LETTERS)}`;
  if (head.status !== 'under way') return head.status;
  if (progress?.phase === 'restoring') return 'putting its servers back as they were';
  if (state && state.finals.length > 0) return 'playing the final';
  if (!state) return 'opening';
  return state.baseline ? 'searching' : 'measuring the original config';
}

/** A study over several servers lists them in separate rows. */
const serverText = ({ server }: StudyState): string => plainLine(`${server.name} ${server.version}`.trim());

function goalText({ goal }: StudyState): string {
  const { budget, objectives } = goal;
  const within = budget ? ` within p${budget.percentile} ≤ ${formatMs(budget.latencyMs)}` : '';
  return plainLine(`best ${describeObjectives(objectives)}${within}`);
}

/** Only the final says how many times better the best is. */
function standing(state: StudyState | null): Pick<StudyView, 'best' | 'original'> {
  const original = state?.baseline ? describeStand(state, state.baseline) : '';
  if (!state?.best) return { best: '', original };
  const missed = representative(state, state.best)?.feasible === false ? ' (it misses the goal)' : '';
  if (isOriginal(state.best?.candidate, state.baseline?.candidate)) {
    const same = missed === '' ? 'your config is as good as anything tried' : 'nothing that was tried meets the goal';
    return { best: state.finished ? same : '', original };
  }
  const { gain } = state;
  const times = gain?.gain && gain.best === state.best.number ? gain.gain : null;
  const by = describeGainIn(state.goal.objectives);
  const isKnown = times !== null && times.low > 0 && Number.isFinite(times.high);
  const gained = isKnown
    ? `; ${formatRatio(times.value)} the original${by} (95 % interval ${formatRatio(times.low)} to ${formatRatio(times.high)}, alternating runs)`
    : times
      ? `; about ${formatRatio(times.value)} the original${by}, by a single comparison`
      : state.finished
        ? '; no final has confirmed its gain'
        : '';
  return { best: `trial ${state.best.number}: ${describeStand(state, state.best)}${missed}${gained}`, original };
}

function formatNotice({ state, trouble }: Watched): string {
  if (trouble !== null) return plainLine(trouble, MAX_LETTERS);
  if (!state) return '';
  if (state.server.emulated !== null) return "These figures are of tritune's emulator, not of a real server.";
  return state.restored && !state.restored.verified
    ? `Not all is as it was before: ${plainLine(state.restored.detail, MAX_LETTERS)}`
    : '';
}

function toProgress({ state, sinceRecordSeconds, head }: Watched): ProgressView {
  if (!state)
    return { done: 0, failed: 0, maxTrials: null, share: null, elapsedSeconds: 0, isRunning: false, secondsLeft: null };
  const { maxTrials = null, timeBudgetSeconds = null } = state.started.spec.limits;
  const limits = { maxTrials, timeBudgetSeconds, usualSeconds: null };
  const isRunning = state.finished === null && head.status === 'under way';
  const elapsedSeconds = state.elapsedSeconds + (isRunning ? Math.max(0, sinceRecordSeconds) : 0);
  const done = state.trials.filter(({ role }) => role === 'search').length;
  const usual = maxTrials === null && timeBudgetSeconds === null ? usualTrials(state.started.sampler) : null;
  const pace = { done, elapsedSeconds, usualTrials: usual };
  const isSearching = isRunning && state.baseline !== null && state.finals.length === 0;
  return {
    done,
    maxTrials,
    elapsedSeconds,
    isRunning,
    failed: state.counts.failed,
    share: state.finished ? 1 : searchShare(limits, pace),
    secondsLeft: isSearching ? searchSecondsLeft(limits, pace) : null,
  };
}
