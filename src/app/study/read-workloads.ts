import { createHash } from 'node:crypto';
import type { ProfiledWorkload } from '#adapter/workloads.ts';
import { TrituneError } from '#base/errors.ts';
import type { RequestLimits } from '#queueing/continuous/request-limits.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { StartedWorkloads, StudyStarted } from '#study/records/records.ts';
import { computeMeanRate } from '#workload/plan/plan-of.ts';
import { readWorkload } from '#workload/read-workload.ts';
import { parseRobustRule } from '#workload/robust-rule.ts';
import { type SplitWorkload, splitWorkload } from '#workload/split.ts';
import type { StudyWorkloads } from '#workload/study-workloads.ts';
import type { Workload } from '#workload/workload.ts';
import { findDuration } from '#workload/workload.ts';
import { findLimits, hasClasses, type PlayedWorkload, played } from '../traffic/workload.ts';

/**
 * A longer pass is scaled down to this many seconds, unless the spec gives a time scale: trials
 * play a pass for each level and workload.
 */
const MAX_PASS_SECONDS = 30;
/**
 * Passes are shortened further so that a time budget has room for this many measurements: the
 * original, a few candidates, and a final.
 */
const MIN_MEASUREMENTS = 8;
/**
 * The share of a time budget for passes; the rest is for loads, lead-ins, and measurements that are
 * repeated.
 */
const SHARE_FOR_PASSES = 2 / 3;
/**
 * Levels range from the mean rate of the first workload divided by this factor to that rate times
 * the factor.
 */
const LEVELS_AROUND = 4;

/** A measurement plays passes for at least this many seconds, … */
const MIN_SECONDS = 5;
/** … after this share of a pass, which does not count. */
const LEAD_IN = 0.05;

/** A workload of a study as it is played. */
export interface StudiedWorkload {
  readonly name: string;
  readonly weight: number;
  /** Its mean requests per second, divided by the level of the study. */
  readonly perLevel: number;
  readonly played: PlayedWorkload;
}

/** The workloads of a study. */
export interface StudiedWorkloads {
  readonly rule: StudyWorkloads['rule'];
  /** The workloads for the search and for the final: the same, unless part of them is held out. */
  readonly search: readonly [StudiedWorkload, ...StudiedWorkload[]];
  readonly final: readonly [StudiedWorkload, ...StudiedWorkload[]];
  /** The journal's record of them. */
  readonly record: StartedWorkloads;
}

/**
 * Returns the longest pass of each of `count` workloads, in seconds, so that enough measurements
 * fit into the time budget.
 */
export function longestPassSeconds(timeBudgetSeconds: number | undefined, count: number): number {
  if (timeBudgetSeconds === undefined) return MAX_PASS_SECONDS;
  const fitting = (SHARE_FOR_PASSES * timeBudgetSeconds) / (MIN_MEASUREMENTS * count);
  return Math.min(MAX_PASS_SECONDS, Math.max(MIN_SECONDS, fitting));
}

/**
 * The start of a resumed study: its passes stay as long as they were, whatever time it gets now.
 */
type Begun = Pick<StudyStarted, 'spec' | 'workloads'>;

/** Returns the time scale of a workload in a study that gives none. */
function usualScale(workload: Workload, place: number, spec: StudySpec, begun: Begun | null): number {
  const durationS = findDuration(workload);
  const scaleTo = (mostS: number): number => Math.min(1, mostS / durationS);
  const recordedS = begun?.workloads?.of[place]?.passSeconds;
  // Earlier versions did not shorten passes by the time budget.
  if (recordedS !== undefined && Math.abs(durationS * scaleTo(MAX_PASS_SECONDS) - recordedS) < SAME_SECONDS)
    return scaleTo(MAX_PASS_SECONDS);
  const { timeBudgetSeconds } = (begun?.spec ?? spec).limits;
  return scaleTo(longestPassSeconds(timeBudgetSeconds, spec.workloads?.files.length ?? 1));
}

/** Passes within this difference are the same one. */
const SAME_SECONDS = 1e-6;

/**
 * Reads the workloads of a study; null for a study without. `begun`: of a resumed study. Errors:
 * INPUT_INVALID, USAGE for two with the same name.
 */
export async function readWorkloads(spec: StudySpec, begun: Begun | null = null): Promise<StudiedWorkloads | null> {
  const workloads = spec.workloads;
  if (!workloads) return null;
  const whole = await Promise.all(workloads.files.map((file) => readWorkload(file)));
  checkNames(whole, workloads.files);
  const { holdout, timeScale, robust } = workloads;
  const levelRate = computeMeanRate(whole[0] as Workload);
  const as = (workload: Workload, place: number, seed: number): StudiedWorkload => ({
    name: workload.name,
    weight: workloads.weights?.[place] ?? 1,
    perLevel: computeMeanRate(workload) / levelRate,
    played: played(workload, { seed, timeScale: timeScale ?? usualScale(workload, place, spec, begun) }),
  });
  const parts = whole.map((workload, place) => {
    const search = (part: Workload): StudiedWorkload => as(part, place, chooseSeed(spec, place));
    if (holdout === undefined) return { search: search(workload), final: search(workload) };
    const { train, holdout: rest } = splitPlayed(workload, holdout, spec.seed);
    // Generated parts are drawn anew.
    return { search: search(train), final: as(rest, place, chooseSeed(spec, place + whole.length)) };
  });
  const all = parts.map(({ search }) => search) as [StudiedWorkload, ...StudiedWorkload[]];
  return {
    rule: parseRobustRule(robust),
    search: all,
    final: holdout === undefined ? all : (parts.map(({ final }) => final) as typeof all),
    record: {
      rule: robust,
      ...(holdout !== undefined && { holdout }),
      of: all.map((each, place) => ({
        name: each.name,
        file: workloads.files[place] as string,
        weight: each.weight,
        perLevel: each.perLevel,
        passSeconds: each.played.passS,
        digest: computeDigest(each.played),
      })),
    },
  };
}

/**
 * Returns a workload in the form that a profile takes. `goodput`: limits for requests without
 * classes.
 */
export function toProfiled(
  { name, weight, perLevel, played: { workload, planAt } }: StudiedWorkload,
  { goal: { goodput } }: Pick<StudySpec, 'goal'>,
): ProfiledWorkload {
  const [only] = hasClasses(workload) ? [] : workload.classes;
  return { name, weight, perLevel, planAt, limits: (only && findLimits(only)) ?? goodput };
}

/**
 * Splits the parts with the same name. A workload without a trace stays whole on both sides,
 * because the final draws it anew.
 */
function splitPlayed(workload: Workload, holdoutShare: number, seed: number): SplitWorkload {
  const hasTrace = workload.phases.some(({ arrivals }) => arrivals.process === 'trace');
  if (!hasTrace) return { train: workload, holdout: workload };
  const { train, holdout } = splitWorkload(workload, { holdoutShare, seed });
  const { name } = workload;
  return { train: { ...train, name }, holdout: { ...holdout, name } };
}

/** Workloads with the same seed would have their bursts at the same moments. */
const chooseSeed = ({ seed }: StudySpec, place: number): number => seed + place;

function checkNames(workloads: readonly Workload[], files: readonly string[]): void {
  const names = workloads.map(({ name }) => name);
  const place = names.findIndex((name, index) => names.indexOf(name) < index);
  if (place < 0) return;
  const first = files[names.indexOf(names[place] as string)];
  throw new TrituneError(
    'USAGE',
    `${first} and ${files[place]} are both named '${names[place]}'`,
    'give each workload file another name',
  );
}

/**
 * Returns a digest that shows whether a file, or a trace that it names, still holds the same
 * arrivals.
 */
function computeDigest({ planAt, perSecond }: PlayedWorkload): string {
  const { arrivalsNs, classOf, classes, durationNs } = planAt(perSecond);
  const bytes = ({ buffer, byteOffset, byteLength }: Float64Array | Uint16Array): Uint8Array =>
    new Uint8Array(buffer, byteOffset, byteLength);
  return createHash('sha256')
    .update(JSON.stringify([classes, durationNs]))
    .update(bytes(arrivalsNs))
    .update(bytes(classOf))
    .digest('hex')
    .slice(0, 16);
}

/** Errors: INPUT_INVALID if a resumed study would have different arrivals than before. */
export function checkSameWorkloads(kept: StartedWorkloads | undefined, read: StudiedWorkloads | null): void {
  const changed = read?.record.of.find(({ digest }, place) => kept?.of[place]?.digest !== digest);
  if (!changed) return;
  throw new TrituneError(
    'INPUT_INVALID',
    `${changed.file} has changed since the study began`,
    'restore the file and its traces, or start a new study',
  );
}

/**
 * Reads the workloads of a new study. If the spec has no range of levels, the workloads set it.
 * Errors: as `readWorkloads`.
 */
export async function withWorkloads(
  spec: StudySpec,
): Promise<{ readonly spec: StudySpec; readonly workloads: StudiedWorkloads | null }> {
  const workloads = await readWorkloads(spec);
  return { spec: workloads ? withLevels(spec, workloads) : spec, workloads };
}

function withLevels(spec: StudySpec, { search: [{ played: first, perLevel }] }: StudiedWorkloads): StudySpec {
  if (spec.levels.requestRate) return spec;
  const rate = first.perSecond / perLevel;
  const rounded = (value: number): number => Number(value.toPrecision(3));
  const requestRate = { low: rounded(rate / LEVELS_AROUND), high: rounded(rate * LEVELS_AROUND) };
  return { ...spec, levels: { ...spec.levels, requestRate } };
}

/**
 * Returns the seconds of a level: for each workload, the whole passes that fill five seconds, and
 * the part of a pass that does not count.
 */
export const passesSeconds = ({ search }: StudiedWorkloads): number =>
  search.reduce((sum, { played: { passS } }) => sum + passS * Math.ceil(MIN_SECONDS / passS) * (1 + LEAD_IN), 0);

/**
 * Returns the workloads for the performance model's simulation. `goodput`: limits for requests
 * whose class has none.
 */
export function simulatedWorkloads(
  { rule, search }: StudiedWorkloads,
  { goal: { goodput } }: Pick<StudySpec, 'goal'>,
): StudyWorkloads {
  const [first, ...others] = search.map(({ name, weight, perLevel, played: { workload, planAt } }) => {
    const limits = workload.classes.flatMap((each): [string, number][] => {
      const { e2eNs } = findLimits(each) ?? goodput ?? {};
      return e2eNs === undefined ? [] : [[each.name, e2eNs]];
    });
    const ofReplies = workload.classes.flatMap((each): [string, RequestLimits][] => {
      const requestLimits = findLimits(each);
      return requestLimits === undefined ? [] : [[each.name, requestLimits]];
    });
    const models = workload.classes.flatMap((each): [string, string][] =>
      each.model === undefined ? [] : [[each.name, each.model]],
    );
    return {
      name,
      weight,
      perLevel,
      planAt,
      ...(limits.length > 0 && { limitsNs: new Map(limits) }),
      ...(ofReplies.length > 0 && { limits: new Map(ofReplies) }),
      ...(models.length > 0 && { models: new Map(models) }),
    };
  });
  return { rule, workloads: [first as StudyWorkloads['workloads'][0], ...others] };
}
