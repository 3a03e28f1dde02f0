import type { Assignment } from '#space/types.ts';
import type { Sampler } from '../../types.ts';
import { queueingSampler } from '../queueing/queueing.ts';
import type { QueueingOptions } from '../queueing/search-state.ts';
import { atLevels } from './at-levels.ts';
import { countingPending } from './counting-pending.ts';
import { gridSampler } from './grid.ts';
import { hillClimbSampler } from './hill-climb.ts';
import { manualSampler } from './manual.ts';
import { nsga2Sampler } from './nsga2.ts';
import { type Prior, startingFrom } from './prior-studies.ts';
import { randomSampler } from './random.ts';
import { ANYWHERE, BY_MODEL, EVERY_LEVEL, LEVEL_BY_LEVEL, type SearchLength } from './search-length.ts';
import type { SpaceView } from './space-view.ts';
import { tpeSampler } from './tpe.ts';

/** Options of all samplers; each takes what it needs. */
export interface SamplerOptions extends QueueingOptions {
  /** The list of `--candidates`, for the manual sampler. */
  readonly candidates?: readonly Assignment[];
  /** False: the grid sampler has no early exits. */
  readonly earlyExits?: boolean;
  /** Earlier studies, whose best is tried first. */
  readonly priors?: readonly Prior[] | undefined;
  /** Fixed load levels for every candidate. */
  readonly values?: readonly number[];
}

/** A kind of sampler, with the properties that the rest of the program needs. */
export interface SamplerKind {
  /** Its name in `--sampler`, journals and reports. */
  readonly name: string;
  /**
   * Typical number of trials until it stops by itself; null for a sampler that runs to the end of
   * the space or to a limit.
   */
  readonly usualTrials: number | null;
  /** True if it never stops by itself, so that a run needs a limit. */
  readonly isEndless: boolean;
  /** True if it adapts its length to the expected duration (`Remaining.pace`). */
  readonly keepsTime: boolean;
  /**
   * True if it reads pending trials (`History.pending`); otherwise they appear to it as trials
   * without a measurement.
   */
  readonly seesPending: boolean;
  readonly length: SearchLength;
  create(space: SpaceView, options: SamplerOptions): Sampler;
}

/** Defaults of most kinds. */
const USUAL = {
  usualTrials: null,
  isEndless: false,
  keepsTime: false,
  seesPending: false,
  length: LEVEL_BY_LEVEL,
} as const;
const ENDLESS = { ...USUAL, isEndless: true, length: ANYWHERE } as const;

const kinds = {
  queueing: {
    ...USUAL,
    usualTrials: 9,
    keepsTime: true,
    seesPending: true,
    length: BY_MODEL,
    create: queueingSampler,
  },
  random: { ...ENDLESS, create: (space, { seed }) => randomSampler(space, seed) },
  grid: { ...USUAL, length: EVERY_LEVEL, create: gridSampler },
  'hill-climb': { ...USUAL, usualTrials: 8, create: hillClimbSampler },
  tpe: { ...ENDLESS, create: (space, { seed, goal }) => tpeSampler(space, seed, goal) },
  nsga2: { ...ENDLESS, create: (space, { seed, goal }) => nsga2Sampler(space, seed, goal) },
  manual: { ...USUAL, create: (space, { candidates = [] }) => manualSampler(space, candidates) },
} as const satisfies Readonly<Record<string, Omit<SamplerKind, 'name'>>>;

export type SamplerName = keyof typeof kinds;

/** The names of the built-in samplers. */
export const samplerNames = Object.keys(kinds) as [SamplerName, ...SamplerName[]];

/** Returns the kind of that name. */
export const samplerKind = (name: SamplerName): SamplerKind => ({ name, ...kinds[name] });

/**
 * Returns the trials of a usual search by that sampler; null as in the kind, and for an unknown
 * name.
 */
export const usualTrials = (name: string): number | null =>
  Object.hasOwn(kinds, name) ? kinds[name as SamplerName].usualTrials : null;

/**
 * Creates a built-in sampler over the space, restricted to `options.values` where they are given.
 */
export const makeSampler = (name: SamplerName, space: SpaceView, options: SamplerOptions): Sampler =>
  createSampler(samplerKind(name), space, options);

/**
 * Creates a sampler of the kind over the space, restricted to `options.values` where they are
 * given, and starting from `options.priors`.
 */
export function createSampler(kind: SamplerKind, space: SpaceView, options: SamplerOptions): Sampler {
  const { priors = [], goal, levels } = options;
  const made = kind.create(space, options);
  const started = priors.length > 0 ? startingFrom(made, priors, { space, goal, levels }) : made;
  const sampler = kind.seesPending ? started : countingPending(started);
  return options.values ? atLevels(sampler, options.values) : sampler;
}

/**
 * A sampler from outside the package: its name, how it is created, and properties that differ from
 * the defaults.
 */
export type SamplerDefinition = Pick<SamplerKind, 'name' | 'create'> & Partial<SamplerKind>;

/** Returns the kind of a sampler from outside, with defaults filled in. */
export const toKind = (definition: SamplerDefinition): SamplerKind => ({ ...USUAL, ...definition });

/** True for the name of a built-in sampler. */
export const isSamplerName = (name: string): name is SamplerName => Object.hasOwn(kinds, name);
