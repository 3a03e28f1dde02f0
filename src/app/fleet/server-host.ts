import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { realClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import type { HeldServer, ServerHost } from '#fleet/temporal/server-worker.ts';
import { WorkRunner } from '#fleet/work-runner.ts';
import { readForRestoring } from '#study/records/journal.ts';
import type { StudyStarted } from '#study/records/records.ts';
import { stateToRestore } from '#study/records/state-to-restore.ts';
import { steadySpeeds } from '#study/speed/speeds.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { restoreRun } from '../restore-study.ts';
import { discardEmpty, safeName, studyFiles } from '../run-directory.ts';
import { readServerMachine } from '../server/devices.ts';
import { openStudy, resumeStudy } from '../study/open-study.ts';
import { planStudy } from '../study/plan-study.ts';
import { checkSameWorkloads } from '../study/read-workloads.ts';
import type { Left, OpenStudy } from '../study/study.ts';
import { fleetTrust, type OwnSpec, onServer } from './fleet-spec.ts';
import { hasJournal } from './own-journal.ts';

/**
 * Takes one server for studies. A journal on this machine, one for each study, holds the server's
 * original state before anything changes. The server can be restored from it after any crash, also
 * by hand with `tritune restore`.
 */
export function serverHost(
  name: string,
  directory: string,
  spec: OwnSpec,
  { signal, tell }: { readonly signal: AbortSignal; readonly tell: (line: string) => void },
): ServerHost {
  const trust = fleetTrust(spec, tell);
  const folders = join(directory, 'servers', safeName(name));
  const toFolder = (study: string): string => join(folders, safeName(study));
  const unrestored = async (): Promise<readonly string[]> => {
    const studies = await readdir(folders).catch(() => []);
    const states = await Promise.all(studies.map(async (study) => ((await isBack(toFolder(study))) ? [] : [study])));
    return states.flat();
  };
  return {
    name,
    unrestored,
    async hold(study, started, emit) {
      const folder = toFolder(study);
      const isThere = await hasJournal(folder);
      if (!isThere && !started) return null;
      const other = (await unrestored()).find((each) => each !== safeName(study));
      if (other !== undefined) throw inUse(name, other);
      const open = isThere
        ? await resumeStudy(folder, (kept) => onServer(kept, spec), trust)
        : await openStudy({ ...onServer((started as StudyStarted).spec, spec), output: folder }, {}, 0);
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
      const folder = toFolder(study);
      if (!(await hasJournal(folder))) return null;
      const { protect: _, url: __, ...reached } = spec.server;
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

/**
 * Takes the server. The study uses the original config and search space of its first server,
 * `began`; each server gets its own config back. A worker that ends in the middle of a study goes
 * on with it later.
 */
async function held(
  name: string,
  study: OpenStudy,
  began: StudyStarted | null,
  { emit, signal, tell }: Surroundings,
): Promise<HeldServer> {
  const target = await study.target.open(study, { signal, tell, began });
  try {
    const { plan, sampler, samplerFor } = planStudy({ ...study, started: study.started ?? began }, target);
    const unlimited = {
      ...plan,
      maxTrials: Number.POSITIVE_INFINITY,
      timeBudgetMs: Number.POSITIVE_INFINITY,
      finalRounds: 0,
    };
    const { adapter } = target;
    const parts = { adapter, sampler, samplerFor, journal: study.journal, clock: realClock };
    const runner = new WorkRunner(name, unlimited, { ...parts, estimateSpeeds: steadySpeeds }, emit);
    let left: Left = 'changed';
    return {
      machine: await readServerMachine(target.identity),
      runner: {
        run: (work, aborted) => runner.run(work, aborted),
        restore: async () => {
          const restored = await runner.restore();
          left = restored.how === 'failed' ? 'changed' : 'restored';
          return restored;
        },
      },
      close: () => target.close(left).finally(() => study.journal.close()),
    };
  } catch (error) {
    await target.close('untouched');
    throw error;
  }
}

async function isBack(folder: string): Promise<boolean> {
  if (!(await hasJournal(folder))) return true;
  const journal = await readForRestoring(studyFiles(folder).journal).catch(() => null);
  return journal === null || stateToRestore(journal).restored?.verified === true;
}
