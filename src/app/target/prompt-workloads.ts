import type { ProfiledWorkload, ProfiledWorkloads } from '#adapter/workloads.ts';
import { TrituneError } from '#base/errors.ts';
import type { RequestSet } from '#loadgen/types.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { type StudiedWorkload, type StudiedWorkloads, toProfiled } from '../study/read-workloads.ts';
import { prepareClassPrompts } from '../traffic/class-prompts.ts';
import { listFronts, type WorkloadFront } from '../traffic/workload.ts';

/** A workload for a language model. */
export interface PromptWorkload extends ProfiledWorkload {
  readonly requests: RequestSet;
}

/**
 * Prepares the prompts of a study's workloads. Errors: USAGE for classes of other models, and as
 * `prepareClassPrompts`.
 */
export async function promptWorkloads(
  spec: StudySpec,
  { rule, search, final }: StudiedWorkloads,
): Promise<ProfiledWorkloads<PromptWorkload>> {
  const {
    model,
    seed,
    prompts = {},
    server: { endpoint },
  } = spec;
  const prepared = async (workload: StudiedWorkload): Promise<PromptWorkload> => {
    const { name, played } = workload;
    const front = onlyFront(name, listFronts(played, model), model);
    const { requests } = await prepareClassPrompts(front, { ...prompts, endpoint }, { model, seed }, played);
    return { ...toProfiled(workload, spec), requests };
  };
  const ofSearch = await Promise.all(search.map(prepared));
  return { rule, search: ofSearch, final: final === search ? ofSearch : await Promise.all(final.map(prepared)) };
}

/**
 * Errors: USAGE if classes ask another model, because a study starts and asks only one language
 * model.
 */
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
