import { tritonAdapter } from '#adapter/triton/adapter.ts';
import { createTracing } from '#adapter/triton/tracing.ts';
import { TRITON } from '#space/model-configs.ts';
import type { StudyStarted } from '#study/records/records.ts';
import { tritonDocuments } from '../../run-documents.ts';
import { checkControllable, type OpenServer, openServer, toServer } from '../../server/open-server.ts';
import type { StudyOfTarget, Target, TargetKind, TargetSetting } from '../../study/study.ts';
import { controlOfStudy } from './control.ts';
import { describeTriton, startedOn } from './describe.ts';
import { callsFinder } from './find-calls.ts';
import { checkAllParts, takeModels } from './hold.ts';
import { modelsNamedBy, type NamedModels } from './models.ts';
import { unreadableLines } from './read-together.ts';
import { openPrompts, openTensors } from './sending.ts';

/** A Triton that is running, or is started for the study. */
export const triton: TargetKind = { name: TRITON, open: openTriton };

/** The models of a Triton that is already connected, and stays connected. */
export const tritonOn = (server: OpenServer): TargetKind => ({
  name: TRITON,
  open: (study, setting) => openModels(server, namedBy(study, setting), study, setting),
});

async function openTriton(study: StudyOfTarget, setting: TargetSetting): Promise<Target> {
  const named = namedBy(study, setting);
  const server = await openServer(toServer(study.spec), modelsOfLaunch(named), study.directory, setting.signal);
  try {
    await checkControllable(server.client);
    const target = await openModels(server, named, study, setting);
    return { ...target, close: (left) => target.close(left).finally(server.close) };
  } catch (error) {
    // Nothing is left to put back on a server that was started and has ended, whatever its control
    // calls said.
    const failure = server.failure();
    await server.close();
    throw failure ?? error;
  }
}

const namedBy = ({ spec, started }: StudyOfTarget, { began = null }: TargetSetting): NamedModels =>
  modelsNamedBy({ spec, started: started ?? began });

/**
 * Returns the models that a server started for the study loads at its start, and those that it
 * loads later.
 */
function modelsOfLaunch({ names, fronts }: NamedModels): {
  readonly loadModels: readonly string[];
  readonly laterModels: readonly string[];
} {
  return { loadModels: fronts, laterModels: names.filter((name) => !fronts.includes(name)) };
}

/**
 * Locks the models, reads them, and opens what sends to them. On an error, leaves them as they
 * were.
 */
async function openModels(
  server: OpenServer,
  named: NamedModels,
  study: StudyOfTarget,
  { tell, began, windows }: TargetSetting,
): Promise<Target> {
  const { spec } = study;
  const findCalls = callsFinder({ spec, started: study.started ?? began ?? null }, named.spaces, server, tell);
  const { models, release } = await takeModels(study, named, server, tell, findCalls);
  try {
    for (const line of unreadableLines(models.together)) tell(line);
    await checkAllParts(server, models, spec);
    const started: StudyStarted | null = study.started ?? (began ? startedOn(began, models) : null);
    const triton = describeTriton({ ...study, started }, server.server, models);
    const tracing = spec.trace ? createTracing(server.client) : undefined;
    await tracing?.look();
    const open = spec.server.endpoint === undefined ? openTensors : openPrompts;
    const { profile, assumptions, guard, look, close } = await open({ ...study, started }, server, models, triton, {
      tell,
      windows,
    });
    const { groupNotes } = triton.space;
    for (const line of groupNotes) tell(line);
    const control = controlOfStudy(study, triton, server, (variant, log) =>
      tell(`building variant '${variant}' (log: ${log})`),
    );
    const adapter = tritonAdapter({
      identity: server.server,
      original: triton.original,
      space: triton.space.view(),
      control,
      profile,
      documents: tritonDocuments(spec.model, triton.space.definition),
      guard,
    });
    return {
      ...triton,
      assumptions: [...assumptions, ...groupNotes],
      adapter,
      tracing,
      look,
      failure: server.failure,
      close: (left) => close().finally(() => release(left)),
    };
  } catch (error) {
    await release('untouched');
    throw error;
  }
}
