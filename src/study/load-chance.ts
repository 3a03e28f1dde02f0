import { batchOf, sameKind } from '../perfmodel/same-kind.ts';
import type { Candidate } from '../space/types.ts';
import { instancesOf } from '../triton/instances.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import type { FailureKind, Trial } from './types.ts';

/** What an instance may need for each place of its batch, as a multiple of what it needs without any. */
const PER_PLACE = [0, 1 / 32, 1 / 4, Number.POSITIVE_INFINITY];
/** What is left of a chance to load after one refusal that tells of it only from afar. */
const AFTER_A_REFUSAL = 0.4;

const telling: ReadonlySet<FailureKind> = new Set(['out-of-memory', 'init-failed']);

/**
 * How likely the candidate loads, where no refusal proves that it does not. Instances need memory (or whatever else ran
 * out) for themselves and for each place of their batches, in a ratio that nobody told: for every ratio that the loads and the
 * refusals of its kind allow, the limit lies somewhere between the largest that loaded and the smallest that was refused. Refusals
 * of other kinds with no more instances and no larger batch count too, each for less.
 */
export function loadChance({ config }: Candidate, trials: readonly Trial[]): number {
  const refusals = trials.filter(({ failure }) => failure !== null && telling.has(failure.kind));
  if (refusals.length === 0) return 1;
  const refused = refusals.map(({ candidate }) => candidate.config);
  const [own, others] = [
    refused.filter((each) => sameKind(each, config)),
    refused.filter((each) => !sameKind(each, config)),
  ];
  const fromAfar = others.filter((each) => hasAtLeast(config, each)).length;
  if (own.length === 0) return AFTER_A_REFUSAL ** fromAfar;
  const loaded = trials
    .filter(({ measurements, candidate }) => measurements.length > 0 && sameKind(candidate.config, config))
    .map(({ candidate }) => candidate.config);
  const chances = PER_PLACE.flatMap((perPlace) => chanceAt(perPlace, config, loaded, own) ?? []);
  const chance =
    chances.length > 0
      ? chances.reduce((sum, each) => sum + each, 0) / chances.length
      : AFTER_A_REFUSAL ** own.filter((each) => hasAtLeast(config, each)).length;
  return chance * AFTER_A_REFUSAL ** fromAfar;
}

/** null where the ratio would have what was refused need no more than what loaded. */
function chanceAt(
  perPlace: number,
  asked: ModelConfig,
  loaded: readonly ModelConfig[],
  refused: readonly ModelConfig[],
): number | null {
  const need = (config: ModelConfig): number => {
    const places = Math.max(1, batchOf(config));
    return instancesOf(config) * (Number.isFinite(perPlace) ? 1 + perPlace * places : places);
  };
  const most = Math.max(0, ...loaded.map(need));
  const least = Math.min(...refused.map(need));
  if (most >= least) return null;
  return Math.min(1, Math.max(0, (least - need(asked)) / (least - most)));
}

const hasAtLeast = (asked: ModelConfig, refused: ModelConfig): boolean =>
  instancesOf(asked) >= instancesOf(refused) && batchOf(asked) >= batchOf(refused);
