import { TrituneError } from '../../../base/errors.ts';
import type { RequestSet } from '../../../loadgen/types.ts';
import type { RequestLimits } from '../../../queueing/continuous/request-limits.ts';
import type { StudySpec } from '../../../spec/study-spec.ts';
import { classPromptsOf } from '../../traffic/class-prompts.ts';
import { frontsOf, hasClasses, limitsOf, type WorkloadFront } from '../../traffic/workload.ts';
import type { StudiedWorkload, StudiedWorkloads } from './read-workloads.ts';

/** A workload for a language model. */
export interface AskedWorkload
  extends Pick<StudiedWorkload, 'name' | 'weight' | 'perLevel'>,
    Pick<WorkloadFront, 'partAt'> {
  readonly requests: RequestSet;
  /** The limits that a good reply keeps if its class has none. */
  readonly limits: RequestLimits | undefined;
}

/** The workloads under which each level of a language model is measured, in turn. */
export interface AskedWorkloads extends Pick<StudiedWorkloads, 'rule'> {
  readonly search: readonly AskedWorkload[];
  /** The workloads for measurements whose figures are reported. */
  readonly final: readonly AskedWorkload[];
}

/** Prepares the prompts of a study's workloads. Errors: USAGE for classes of other models, and as `classPromptsOf`. */
export async function askedWorkloads(
  { model, seed, prompts = {}, server: { endpoint }, goal }: StudySpec,
  { rule, search, final }: StudiedWorkloads,
): Promise<AskedWorkloads> {
  const asked = async ({ name, weight, perLevel, played }: StudiedWorkload): Promise<AskedWorkload> => {
    const front = onlyFront(name, frontsOf(played, model), model);
    const { requests } = await classPromptsOf(front, { ...prompts, endpoint }, { model, seed }, played);
    const [only] = hasClasses(played.workload) ? [] : front.classes;
    const limits = (only && limitsOf(only)) ?? goal.goodput;
    return { name, weight, perLevel, requests, limits, partAt: front.partAt };
  };
  const ofSearch = await Promise.all(search.map(asked));
  return { rule, search: ofSearch, final: final === search ? ofSearch : await Promise.all(final.map(asked)) };
}

/** Errors: USAGE if classes ask another model, because a study starts and asks only one language model. */
function onlyFront(name: string, fronts: readonly WorkloadFront[], model: string): WorkloadFront {
  const stray = fronts.find((front) => front.model !== model);
  const [only] = fronts;
  if (only && !stray) return only;
  throw new TrituneError(
    'USAGE',
    `the workload ${name} has requests to '${stray?.model}', and a study asks one language model`,
    `leave the model out of its classes, or measure several with \`tritune profile --workload\``,
  );
}
