import type { LoadLevel } from '../../../loadgen/types.ts';
import type { Measurement } from '../../../profiler/measurement.ts';
import type { Candidate } from '../../../space/types.ts';
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

/** What a study searches, as far as a start needs it. */
interface Searched {
  readonly space: SpaceView;
  readonly goal: Goal;
  readonly levels: LevelRange;
}

/**
 * Makes a sampler start with the reading of earlier studies that would be best here: their times
 * are scaled by the ratio of the two original configs at the same level. The sampler continues from
 * there, with its own proposals. A study that is not alike costs one trial. A sampler that comes
 * back to earlier candidates measures the original config at one level before the start.
 */
export function startingFrom(sampler: Sampler, priors: readonly PriorStudy[], searched: Searched): Sampler {
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
 * Returns the trial of the best expected reading within the goal whose config is in the space; null
 * without one, and if that is the original config itself.
 */
function findStart(
  { candidate: original, measurements: [own] }: Pick<Trial, 'candidate' | 'measurements'>,
  priors: readonly PriorStudy[],
  { space, goal, levels }: Searched,
): Proposal | null {
  if (!own) return null;
  const readings = priors
    .flatMap((prior) => expectedReadings(prior, own))
    .filter(({ measurement: { level } }) => level.value >= levels.low && level.value <= levels.high)
    .flatMap(({ candidate, measurement, study }) => {
      if (missingMetrics(measurement, candidate, goal).length > 0) return [];
      const assessment = assess(measurement, candidate, goal);
      return assessment.feasible ? [{ assessment, candidate, level: measurement.level, study }] : [];
    })
    .sort((a, b) => compareAssessments(a.assessment, b.assessment));
  for (const { candidate, level, study } of readings) {
    const built = space.build(candidate.assignment);
    if (!built.legal) continue;
    if (built.candidate.fingerprint === original.fingerprint) return null;
    const { value, batch } = level;
    const levels = { kind: 'search', start: value, ...(batch !== undefined && { batch }) } as const;
    return { kind: 'trial', assignment: candidate.assignment, levels, prior: study };
  }
  return null;
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
