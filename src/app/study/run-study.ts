import { createTracing } from '../../adapter/triton/tracing.ts';
import type { ModelRestored } from '../../study/records/records.ts';
import { tritonDocuments } from '../output/documents.ts';
import { checkControllable, type OpenServer, openServer, serverOf } from '../server/open-server.ts';
import { expectsOutputs } from '../traffic/compare-outputs.ts';
import { lookFirst } from '../traffic/first-requests.ts';
import { assumptionsOf } from '../traffic/requests.ts';
import { assembleParts } from './assemble-parts.ts';
import { callsFinder } from './calls/find-calls.ts';
import { assembleLanguageParts } from './engine/language-on-triton.ts';
import { checkAllParts, takeModels } from './held-model.ts';
import type { OpenStudy } from './open-study.ts';
import { trafficTo } from './pipeline/front-inputs.ts';
import { unreadableLines } from './pipeline/read-together.ts';
import { planStudy } from './plan-study.ts';
import { leaveAsTheyWere, modelsNamedBy, type NamedModels, type StudyModels } from './study-models.ts';
import { tuneAndWrite } from './tune-and-write.ts';
import { tuneByAdapter } from './tune-by-adapter.ts';
import type { StudyOutcome, StudyWatch } from './watch.ts';
import { inputsOfStudy } from './workloads/study-inputs.ts';

/** Tunes one study on the server in its spec, or on one started for it. Errors: as `tuneStudy`. */
export async function tuneOnItsServer(study: OpenStudy, signal: AbortSignal, watch: StudyWatch): Promise<StudyOutcome> {
  if (study.adapter) return tuneByAdapter(study, study.adapter, watch, signal);
  const named = modelsNamedBy(study);
  const opened = await openServer(serverOf(study.spec), modelsOfLaunch(named), study.directory, signal);
  try {
    await checkControllable(opened.client);
    return await tuneStudy(study, opened, watch, signal, named);
  } catch (error) {
    // Nothing is left to put back on such a server, whatever its control calls said.
    throw opened.failure() ?? error;
  } finally {
    await opened.close();
  }
}

/** Returns the models that a server started for the study loads at its start, and those that it loads later. */
function modelsOfLaunch({ names, fronts }: NamedModels): {
  readonly loadModels: readonly string[];
  readonly laterModels: readonly string[];
} {
  return { loadModels: fronts, laterModels: names.filter((name) => !fronts.includes(name)) };
}

/**
 * Runs one study on an open server: plans, tunes, and writes the documents, also after an early end. Returns how it ended. Errors: those of
 * `takeModels`, what ended the study.
 */
export async function tuneStudy(
  study: OpenStudy,
  opened: OpenServer,
  watch: StudyWatch,
  signal: AbortSignal,
  named: NamedModels = modelsNamedBy(study),
): Promise<StudyOutcome> {
  const { models, prepared, during } = await takeModels(
    study,
    named,
    opened,
    watch.tell,
    callsFinder(study, named.given, opened, watch.tell),
  );
  for (const line of unreadableLines(models.together)) watch.tell(line);
  return during(async () => {
    const { plan, parts, close } = await prepared(prepare(study, opened, models, watch));
    const closeAll = async (restored: ModelRestored | null): Promise<void> => {
      await close();
      if (restored === null) await leaveAsTheyWere(opened.client, models);
    };
    const documentsOf = tritonDocuments(plan.study.model, plan.study.space);
    return tuneAndWrite(study, plan, parts, watch, signal, closeAll, documentsOf);
  });
}

const UNCHECKED =
  'accuracy of the variants is not checked: --input-data with expected outputs would (docs/variants.md)';

const tellBuild =
  (watch: StudyWatch) =>
  (variant: string, log: string): void =>
    watch.tell(`building variant '${variant}' (log: ${log})`);

async function prepare(study: OpenStudy, opened: OpenServer, models: StudyModels, watch: StudyWatch) {
  await checkAllParts(opened, models, study.spec);
  const { own: original } = models;
  const planned = planStudy(study, opened.server, models);
  if (study.spec.server.endpoint !== undefined) {
    const { parts, close } = await assembleLanguageParts(study, planned, opened, tellBuild(watch));
    return { plan: planned.plan, parts, close };
  }
  const { inputs, otherFronts, underWorkloads, all } = await inputsOfStudy(study, models);
  for (const each of all) for (const line of assumptionsOf(each)) watch.tell(line);
  if (planned.space.hasVariants && !expectsOutputs(inputs, original.config)) watch.tell(UNCHECKED);
  if (study.spec.trace) await createTracing(opened.client).look();
  // Without an aim, sends nothing.
  const usual = planned.usual?.(
    (await lookFirst(trafficTo(study.spec, study.spec.model), opened, original, inputs)).seen,
  );
  const { parts, close } = await assembleParts(
    study,
    planned,
    opened,
    inputs,
    tellBuild(watch),
    otherFronts,
    underWorkloads,
  );
  return { plan: { ...planned.plan, ...(usual && { usual }) }, parts, close };
}
