import { plainLine } from '#base/format.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeAssignment } from '#study/summary/describe.ts';
import type { Trial } from '#study/types.ts';
import { formatStandingText, latestTrials, type TrialRow, trialRow } from './trial-rows.ts';
import type { Watched } from './watched.ts';

/** What a person looks for among trials; '' stands for anything. */
export interface TrialQuery {
  /** Words that must all be in a trial's number, server, config, standing or failure. */
  readonly words: string;
  readonly server: string;
  /** The kind of failure, or `any`. */
  readonly failure: string;
}

export interface MatchingTrials {
  readonly total: number;
  readonly matching: number;
  /** The matching trials that ended last, the latest first. */
  readonly trials: readonly TrialRow[];
}

/** Rows in one answer, at most. */
const MAX_FOUND = 200;

/** Returns the finished trials that match. */
export function findTrials(state: StudyState, watched: Watched, query: TrialQuery): MatchingTrials {
  const all = latestTrials(state, watched, watched.finished.length);
  const trials = all.filter(createMatcher(state, watched, query));
  return {
    total: all.length,
    matching: trials.length,
    trials: trials.slice(0, MAX_FOUND).map((trial) => trialRow(state, watched, trial)),
  };
}

function createMatcher(state: StudyState, { serverByTrial }: Watched, query: TrialQuery): (trial: Trial) => boolean {
  const { server, failure } = query;
  const words = query.words.toLowerCase().split(/\s+/).filter(Boolean);
  return (trial) => {
    const address = serverByTrial.get(trial.number) ?? '';
    if (server !== '' && address !== server) return false;
    if (failure !== '' && (failure === ANY_FAILURE ? !trial.failure : trial.failure?.kind !== failure)) return false;
    if (words.length === 0) return true;
    const text = formatText(state, trial, address);
    return words.every((word) => text.includes(word));
  };
}

const ANY_FAILURE = 'any';

/** Returns what the page says of a trial apart from its figures, in small letters. */
function formatText(state: StudyState, trial: Trial, server: string): string {
  const { number, candidate, failure } = trial;
  const parts = [`trial ${number}`, server, describeAssignment(candidate.assignment), formatStandingText(state, trial)];
  if (failure) parts.push(failure.kind, plainLine(failure.reason));
  return parts.join(' ').toLowerCase();
}
