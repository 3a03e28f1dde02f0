import { lookUp } from '#base/look-up.ts';
import type { CandidateShape, Settings } from '#space/types.ts';
import type { FailureKind, Trial } from '../types.ts';
import { perHistory } from './samplers/per-history.ts';

/** A refused load and the values of settings that may have caused it. */
interface Blame {
  readonly trial: number;
  readonly refused: CandidateShape;
  readonly values: readonly (readonly [setting: string, value: string])[];
  /**
   * True if the server named them, or a config loaded with at least as many instances and as large
   * a batch, so that neither is the cause.
   */
  readonly onlySettings: boolean;
  readonly isNamed: boolean;
}

const refusals: ReadonlySet<FailureKind> = new Set(['invalid-config', 'init-failed']);

/** Returns each refused load with its values that no loaded config has. */
const blamesIn = perHistory((trials): readonly Blame[] => {
  const loaded = trials.filter(({ failure }) => failure === null).map(({ candidate }) => candidate.shape);
  return trials.flatMap(({ number, failure, candidate: { shape } }) => {
    if (failure === null || !refusals.has(failure.kind) || loaded.length === 0) return [];
    const values = Object.entries(shape.settings).filter(([setting, value]) =>
      loaded.every(({ settings }) => lookUp(settings, setting) !== value),
    );
    if (values.length === 0) return [];
    const named = values.filter(([, value]) => failure.reason.includes(`'${value}'`));
    const blamed = named.length > 0 ? named : values;
    const onlySettings = named.length > 0 || loaded.some((each) => isAtLeast(each, shape));
    return [{ trial: number, refused: shape, values: blamed, isNamed: named.length > 0, onlySettings }];
  });
});

/**
 * True if the server's message blames the refusal of this trial on a value of a setting, as in
 * "unknown accelerator 'openvino'".
 */
export const isNamedCause = ({ number }: Trial, trials: readonly Trial[]): boolean =>
  blamesIn(trials).some(({ trial, isNamed }) => isNamed && trial === number);

/**
 * Returns the trial whose refusal shows that the candidate must be refused too; null if there is
 * none. The candidate shares every value that is new in the refused config, such as an accelerator
 * that the server was built without. It also shares the other possible causes, instances and batch
 * size, unless a config with as many instances and as large a batch did load.
 */
export function refusedLike(shape: CandidateShape, trials: readonly Trial[]): number | null {
  const blame = blamesIn(trials).find(
    ({ refused, values, onlySettings }) =>
      hasAll(shape.settings, values) && (onlySettings || isAtLeast(shape, refused)),
  );
  return blame?.trial ?? null;
}

const hasAll = (settings: Settings, values: Blame['values']): boolean =>
  values.every(([setting, value]) => lookUp(settings, setting) === value);

function isAtLeast(one: CandidateShape, other: CandidateShape): boolean {
  if (one.members && other.members) {
    const { members } = one;
    return Object.entries(other.members).every(([model, part]) => {
      const shape = lookUp(members, model);
      return shape !== undefined && isAtLeast(shape, part);
    });
  }
  const [{ policy: a }, { policy: b }] = [one, other];
  return a.instances >= b.instances && a.maxBatchSize >= b.maxBatchSize;
}
