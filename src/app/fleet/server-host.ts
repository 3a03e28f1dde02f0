import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { TrituneError } from '../../base/errors.ts';
import type { HeldServer, ServerHost } from '../../fleet/activities/server.ts';
import { WorkRunner } from '../../fleet/server/work-runner.ts';
import { originalOf } from '../../space/model-configs.ts';
import { readForRestoring } from '../../study/records/journal.ts';
import type { StudyStarted } from '../../study/records/records.ts';
import { stateToRestore } from '../../study/records/state-to-restore.ts';
import { steadySpeeds } from '../../study/speed/speeds.ts';
import type { TunerEvent } from '../../tuner/seams.ts';
import { discardEmpty, safeName, studyFiles } from '../output/directory.ts';
import { restoreRun } from '../restore/restore-study.ts';
import { checkControllable, type OpenServer, openServer, serverOf } from '../server/open-server.ts';
import { assembleParts } from '../study/assemble-parts.ts';
import { assembleLanguageParts } from '../study/engine/language-on-triton.ts';
import { checkAllParts, takeModels } from '../study/held-model.ts';
import { type OpenStudy, openStudy, resumeStudy } from '../study/open-study.ts';
import { planStudy } from '../study/plan-study.ts';
import { configsOf, leaveAsTheyWere, modelsNamedBy, type StudyModels } from '../study/study-models.ts';
import { checkSameWorkloads } from '../study/workloads/read-workloads.ts';
import { inputsOfStudy } from '../study/workloads/study-inputs.ts';
import { fleetTrust, type OwnSpec, onServer } from './fleet-spec.ts';
import { hasJournal } from './own-journal.ts';

/**
 * Takes one server for studies. A journal on this machine, one for each study, holds the server's original state before anything changes. The server
 * can be restored from it after any crash, also by hand with `tritune restore`.
 */
export function serverHost(
  name: string,
  directory: string,
  own: OwnSpec,
  { signal, tell }: { readonly signal: AbortSignal; readonly tell: (line: string) => void },
): ServerHost {
  const trust = fleetTrust(own, tell);
  const folders = join(directory, 'servers', safeName(name));
  const folderOf = (study: string): string => join(folders, safeName(study));
  const unrestored = async (): Promise<readonly string[]> => {
    const studies = await readdir(folders).catch(() => []);
    const states = await Promise.all(studies.map(async (study) => ((await isBack(folderOf(study))) ? [] : [study])));
    return states.flat();
  };
  return {
    ...{ name, unrestored },
    async hold(study, started, emit) {
      const folder = folderOf(study);
      const isThere = await hasJournal(folder);
      if (!isThere && !started) return null;
      const other = (await unrestored()).find((each) => each !== safeName(study));
      if (other !== undefined) throw inUse(name, other);
      const open = isThere
        ? await resumeStudy(folder, (kept) => onServer(kept, own), trust)
        : await openStudy({ ...onServer((started as StudyStarted).spec, own), output: folder }, {}, 0);
      try {
        checkSameWorkloads(started?.workloads, started && open.workloads);
        return await held(name, open, started, { emit, signal, tell });
      } catch (error) {
        await open.journal.close();
        await discardEmpty(folder);
        throw error;
      }
    },
    async putBack(study) {
      const folder = folderOf(study);
      if (!(await hasJournal(folder))) return null;
      const { protect: _, url: __, ...reached } = own.server;
      // Changes must be undone even if the model has been protected since.
      await restoreRun(folder, { ...reached, ...trust, how: null, force: false });
      const { restored } = stateToRestore(await readForRestoring(studyFiles(folder).journal));
      if (!restored)
        throw new TrituneError('INTERNAL', `${folder} does not say how it was put back`, 'please report it');
      const { how, verified, detail } = restored;
      return { server: name, how, verified, detail };
    },
  };
}

/** The error for a server whose current config is a candidate of that study. */
export const inUse = (server: string, study: string): TrituneError =>
  new TrituneError('MODEL_LOCKED', `${server} is in use by study '${study}'`, 'wait until it has put the server back');

interface Surroundings {
  readonly emit: (event: TunerEvent) => void;
  readonly signal: AbortSignal;
  readonly tell: (line: string) => void;
}

async function held(
  name: string,
  study: OpenStudy,
  given: StudyStarted | null,
  { emit, signal, tell }: Surroundings,
): Promise<HeldServer> {
  const named = modelsNamedBy({ spec: study.spec, started: study.started ?? given });
  const opened = await openServer(serverOf(study.spec), { loadModels: [], laterModels: [] }, study.directory, signal);
  try {
    await checkControllable(opened.client);
    const taken = await takeModels(study, named, opened, tell);
    try {
      const { models } = taken;
      const { plan, parts, close } = await taken.prepared(prepare(study, given, opened, models, tell));
      const runner = new WorkRunner(name, plan, { ...parts, estimateSpeeds: steadySpeeds }, emit);
      let isRestored = false;
      return {
        runner: {
          run: (work, aborted) => runner.run(work, aborted),
          restore: async () => {
            const restored = await runner.restore();
            isRestored = restored.how !== 'failed';
            return restored;
          },
        },
        close: async () => {
          try {
            await close();
            if (isRestored) await leaveAsTheyWere(opened.client, models).catch(() => undefined);
          } finally {
            // A worker that ends in the middle of a study goes on with it later.
            taken.letGo(isRestored ? undefined : 'leave');
            await study.journal.close();
            await opened.close();
          }
        },
      };
    } catch (error) {
      taken.letGo();
      throw error;
    }
  } catch (error) {
    await opened.close();
    throw error;
  }
}

/** The study uses the original config and search space of its first server; each server gets its own config back. */
async function prepare(
  study: OpenStudy,
  given: StudyStarted | null,
  opened: OpenServer,
  models: StudyModels,
  tell: (line: string) => void,
) {
  await checkAllParts(opened, models, study.spec);
  const started = study.started ?? (given && asOnThisServer(given, models));
  const planned = planStudy({ ...study, started }, opened.server, models);
  const plan = {
    ...planned.plan,
    ...{ maxTrials: Number.POSITIVE_INFINITY, timeBudgetMs: Number.POSITIVE_INFINITY, finalRounds: 0 },
  };
  const onBuild = (variant: string, log: string): void => tell(`building variant '${variant}' (log: ${log})`);
  const unlimited = { ...planned, plan };
  if (study.spec.server.endpoint !== undefined)
    return { plan, ...(await assembleLanguageParts(study, unlimited, opened, onBuild)) };
  const { inputs, otherFronts, underWorkloads } = await inputsOfStudy(study, models);
  return {
    plan,
    ...(await assembleParts(study, unlimited, opened, inputs, onBuild, otherFronts, underWorkloads)),
  };
}

/** Errors: UNSUPPORTED if the server's model or its config differs from the one that the study began with. */
function asOnThisServer(started: StudyStarted, models: StudyModels): StudyStarted {
  const { own, others } = models;
  const configs = configsOf(models);
  const [ownName] = models.names;
  const { [ownName]: _, ...otherConfigs } = configs;
  const fingerprint = models.together ? started.original.fingerprint : originalOf(own.config, otherConfigs).fingerprint;
  if (fingerprint !== started.original.fingerprint)
    throw new TrituneError(
      'UNSUPPORTED',
      `the config of '${ownName}' on this server differs from the one on the first server of the group`,
      'serve the same model repository on all servers of a group',
    );
  const unloaded = [...others].filter(([, { wasLoaded }]) => !wasLoaded).map(([model]) => model);
  return { ...started, wasLoaded: own.wasLoaded, ...(unloaded.length > 0 && { unloadedOthers: unloaded }) };
}

async function isBack(folder: string): Promise<boolean> {
  if (!(await hasJournal(folder))) return true;
  const found = await readForRestoring(studyFiles(folder).journal).catch(() => null);
  return found === null || stateToRestore(found).restored?.verified === true;
}
