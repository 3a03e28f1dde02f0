import { atClientBatch, type Choice } from '../../../perfmodel/modelled-config.ts';
import type { MeasuredChoice } from '../../../perfmodel/simulator.ts';
import type { LevelRange } from '../../types.ts';

/** A trial that is chosen for what it shows, with its level. */
export interface InitialDesign {
  readonly choice: Choice;
  readonly level: number;
}

/** The max batch size that the initial design prefers. */
const INITIAL_DESIGN_BATCH = 32;
/** The initial design is proposed only while no more trials than this were measured. */
const TRIALS_BEFORE_INITIAL_DESIGN = 1;

/**
 * Returns the initial design: one trial with room for large batches, half filled so that batches of
 * all sizes form. null unless the statistics of the first trial have batches of one only, which say
 * nothing about the cost of larger ones.
 */
export function planInitialDesign(
  left: readonly Choice[],
  measured: readonly MeasuredChoice[],
  range: LevelRange,
): InitialDesign | null {
  const first = measured[0];
  if (!first || first.choice.members || measured.length > TRIALS_BEFORE_INITIAL_DESIGN || range.mode !== 'concurrency')
    return null;
  const batches = measured.flatMap(({ measurements }) => measurements.flatMap(({ server }) => server?.batches ?? []));
  if (batches.length === 0 || batches.some(({ size }) => size > 1)) return null;
  const able = left.filter(
    ({ settingsKey, largestBatch }) => settingsKey === first.choice.settingsKey && largestBatch > 1,
  );
  const apart = ({ policy }: Choice): number => Math.abs(policy.instances - first.choice.policy.instances);
  const choice = [...able].sort(
    (a, b) =>
      apart(a) - apart(b) ||
      distanceTo(INITIAL_DESIGN_BATCH, a) - distanceTo(INITIAL_DESIGN_BATCH, b) ||
      a.delayUs - b.delayUs,
  )[0];
  if (!choice) return null;
  if (range.batch) {
    const { low, high } = range.batch;
    const batch = Math.min(high, Math.max(low, Math.round(choice.largestBatch / 2)));
    return { choice: atClientBatch(choice, batch), level: clamp(choice.policy.instances, range) };
  }
  const level = Math.max(2, Math.round((choice.policy.instances * choice.largestBatch) / 2));
  return { choice, level: clamp(level, range) };
}

const clamp = (level: number, { low, high }: LevelRange): number => Math.min(high, Math.max(low, level));

const distanceTo = (batch: number, { largestBatch }: Choice): number => Math.abs(Math.log2(largestBatch / batch));
