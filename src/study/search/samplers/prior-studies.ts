import type { LoadLevel } from '#loadgen/types.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Assignment, Candidate } from '#space/types.ts';
import { assess, compareAssessments, missingMetrics } from '../../goal/goal.ts';
import { atSpeed } from '../../speed/at-speed.ts';
import type { Goal, LevelRange, Proposal, Sampler, Trial } from '../../types.ts';
import type { SpaceView } from './space-view.ts';

/** A finished study of the same model, or of one that is thought to be alike. */
export interface PriorStudy {
  /** Its run directory. */
  readonly name: string;
  readonly trials: readonly Trial[];
}

/** A config that is thought to be good, such as one that `tritune explain` proposed. */
export interface PriorProposal {
  /** The file that it is from. */
  readonly name: string;
  readonly proposal: {
    /** Parameters that it leaves out keep the value of the original config. */
    readonly assignment: Assignment;
    /** The load that it is expected to serve. */
    readonly requestsPerSecond: number;
    readonly inFlight: number;
  };
}

export type Prior = PriorStudy | PriorProposal;

/** What a study searches, as far as a start needs it. */
interface Searched {
  readonly space: SpaceView;
  readonly goal: Goal;
  readonly levels: LevelRange;
}

/**
 * Makes a sampler start with the reading of earlier studies that would be best here: their times
 * are scaled by the ratio of the two original configs at the same level. Without such a reading it
 * starts with the first proposal. The sampler continues from there, with its own proposals. A study
 * that is not alike costs one trial. A sampler that comes back to earlier candidates measures the
 * original config at one level before the start.
 */
export function startingFrom(sampler: Sampler, priors: readonly Prior[], searched: Searched): Sampler {
  const { level } = sampler;
  return {
    ask(history, remaining) {
      const { trials, pending = [] } = history;
      const [baseline, ...others] = trials;
      const isFirst = baseline !== undefined && others.length === 0 && pending.length === 0;
      return (isFirst && findStart(baseline, priors, searched)) || sampler.ask(history, remaining);
    },
    ...(level && {
      level(history, running) {
        const isFirst = running.role === 'baseline' && history.trials.length === 0 && running.measurements.length > 0;
        return sampler.comesBack && isFirst && findStart(running, priors, searched)
          ? null
          : level.call(sampler, history, running);
      },
    }),
    ...(sampler.doubted && { doubted: (history) => sampler.doubted?.(history) ?? [] }),
    ...(sampler.certify && { certify: sampler.certify.bind(sampler) }),
    ...(sampler.comesBack && { comesBack: true }),
  };
}

/** A reading of an earlier study, as it would be here. */
interface Expected {
  readonly candidate: Candidate;
  readonly measurement: Measurement;
  readonly study: string;
}

/**
 * Returns the trial of the best expected reading within the goal, or else of the first proposal,
 * whose config is in the space; null without one, and if that is the original config itself.
 */
function findStart(
  baseline: Pick<Trial, 'candidate' | 'measurements'>,
  priors: readonly Prior[],
  searched: Searched,
): Proposal | null {
  const [own] = baseline.measurements;
  if (!own) return null;
  const starts = [
    ...listReadings(own, priors.filter(isStudy), searched),
    ...priors.flatMap((prior) => (isStudy(prior) ? [] : toStart(prior, own, searched.levels))),
  ];
  for (const { assignment, level, name } of starts) {
    const built = searched.space.build(assignment);
    if (!built.legal) continue;
    if (built.candidate.fingerprint === baseline.candidate.fingerprint) return null;
    const { value, batch } = level;
    const levels = { kind: 'search', start: value, ...(batch !== undefined && { batch }) } as const;
    return { kind: 'trial', assignment, levels, prior: name };
  }
  return null;
}

const isStudy = (prior: Prior): prior is PriorStudy => 'trials' in prior;

interface Start {
  readonly assignment: Assignment;
  readonly level: LoadLevel;
  /** Where it is from. */
  readonly name: string;
}

/** Returns a proposal at its load, within the study's levels. */
function toStart({ name, proposal }: PriorProposal, { level }: Measurement, { low, high }: LevelRange): Start {
  const { assignment, requestsPerSecond, inFlight } = proposal;
  const expected = level.mode === 'concurrency' ? Math.round(inFlight) : requestsPerSecond;
  return { name, assignment, level: { ...level, value: Math.min(high, Math.max(low, expected)) } };
}

/** Returns the readings of earlier studies that would keep the goal here, the best first. */
function listReadings(own: Measurement, studies: readonly PriorStudy[], { goal, levels }: Searched): readonly Start[] {
  return studies
    .flatMap((study) => expectedReadings(study, own))
    .filter(({ measurement: { level } }) => level.value >= levels.low && level.value <= levels.high)
    .flatMap(({ candidate, measurement, study }) => {
      if (missingMetrics(measurement, candidate, goal).length > 0) return [];
      const assessment = assess(measurement, candidate, goal);
      const start = { assignment: candidate.assignment, level: measurement.level, name: study };
      return assessment.feasible ? [{ assessment, start }] : [];
    })
    .sort((a, b) => compareAssessments(a.assessment, b.assessment))
    .map(({ start }) => start);
}

/** Returns the readings of a study at the speed of this server. */
function expectedReadings({ name, trials }: PriorStudy, own: Measurement): readonly Expected[] {
  const { mode, value } = own.level;
  const theirs = trials
    .filter(({ role }) => role === 'baseline')
    .flatMap(({ measurements }) => measurements)
    .find(({ level }) => level.mode === mode && level.value === value);
  const speed = theirs ? theirs.latencyMs.avg / own.latencyMs.avg : 1;
  const seenHere = (measurement: Measurement): Measurement => ({
    ...atSpeed(measurement, { value: 1, low: 1, high: 1 }, speed),
    level: levelAt(measurement.level, speed),
  });
  return trials.flatMap(({ candidate, measurements }) =>
    measurements
      .filter(({ level }) => level.mode === mode)
      .map((measurement) => ({ candidate, measurement: seenHere(measurement), study: name })),
  );
}

/**
 * Returns the level that loads a server of another speed as much: as many requests in flight, or a
 * higher rate on a faster server.
 */
const levelAt = (level: LoadLevel, speed: number): LoadLevel =>
  level.mode === 'concurrency' ? level : { ...level, value: Number((level.value * speed).toPrecision(3)) };
