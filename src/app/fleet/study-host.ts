import { join } from 'node:path';
import { realClock } from '#base/clock.ts';
import { type HostedStudy, noStudy, type StudyHost } from '#fleet/temporal/keeper.ts';
import type { ServerHost } from '#fleet/temporal/server-worker.ts';
import type { StudyOrder } from '#fleet/workflow/seams.ts';
import { readJournal } from '#study/records/journal.ts';
import { afterRestoring } from '../restore-first.ts';
import { safeName, studyFiles } from '../run-directory.ts';
import { tritonDocuments, writeDocuments } from '../run-documents.ts';
import { checkLeftovers } from '../server/leftover.ts';
import { checkControllable, openServer, toServer } from '../server/open-server.ts';
import { openStudy, resumeStudy } from '../study/open-study.ts';
import { planStudy } from '../study/plan-study.ts';
import type { OpenStudy } from '../study/study.ts';
import { describeTriton } from '../target/triton/describe.ts';
import { leaveAsTheyWere, modelsNamedBy, readModels } from '../target/triton/models.ts';
import { checkFleetSpec, fleetTrust, type OwnSpec, onServer } from './fleet-spec.ts';
import { hasJournal } from './own-journal.ts';
import { inUse } from './server-host.ts';

/**
 * Keeps the journals of studies in a directory, each in its own folder. `server`: the worker's
 * server, whose model shows what is tuned. A new study waits while another has changed that server
 * (`unrestored`).
 */
export function studyHost(
  directory: string,
  { server, trustRun }: Pick<OwnSpec, 'server' | 'trustRun'>,
  { name: serverName, unrestored }: Pick<ServerHost, 'name' | 'unrestored'>,
  { signal, tell }: { readonly signal: AbortSignal; readonly tell: (line: string) => void },
): StudyHost {
  // The host that keeps the journal sends no requests.
  const hostOptions = { server, agents: {}, trustRun };
  const trust = fleetTrust(hostOptions, tell);
  const toFolder = (study: string): string => join(directory, 'studies', safeName(study));
  return {
    async open(name, order) {
      const folder = toFolder(name);
      const isThere = await hasJournal(folder);
      if (!isThere && !order) throw noStudy(name);
      const [other] = isThere ? [] : await unrestored();
      if (other !== undefined) throw inUse(serverName, other);
      const study = isThere
        ? await resumeStudy(folder, (kept) => onServer(kept, hostOptions), trust)
        : await openNew(order as StudyOrder, folder, hostOptions);
      try {
        return await hosted(study, tell, signal);
      } catch (error) {
        await study.journal.close();
        throw error;
      }
    },
    async read(name) {
      const folder = toFolder(name);
      return (await hasJournal(folder)) ? readJournal(studyFiles(folder).journal) : null;
    },
  };
}

function openNew({ spec, commandLine }: StudyOrder, folder: string, ownSpec: OwnSpec): Promise<OpenStudy> {
  checkFleetSpec(spec);
  return openStudy({ ...onServer(spec, ownSpec), output: folder }, { commandLine }, realClock.wallMs());
}

/** Reads the model on the worker's own server and changes nothing. */
async function hosted(study: OpenStudy, tell: (line: string) => void, signal: AbortSignal): Promise<HostedStudy> {
  const { spec, directory, journal, metrics, started } = study;
  const named = modelsNamedBy(study);
  const opened = await openServer(toServer(spec), { loadModels: [], laterModels: [] }, directory, signal);
  try {
    await checkControllable(opened.client);
    if (!started) await afterRestoring(spec.server, tell, () => checkLeftovers(opened, named.names, directory));
    const models = await readModels(opened.client, named, started);
    await leaveAsTheyWere(opened.client, models);
    const triton = describeTriton(study, opened.server, models);
    const { plan, sampler, samplerFor } = planStudy(study, triton);
    const view = triton.space.view();
    const { original } = plan.study;
    return {
      plan,
      parts: {
        sampler,
        samplerFor,
        journal,
        clock: realClock,
        build: (assignment) =>
          Object.keys(assignment).length === 0 ? { legal: true, candidate: original } : view.build(assignment),
      },
      writeDocuments: async () => {
        await writeDocuments(directory, {
          restored: null,
          metrics,
          listDocuments: tritonDocuments(spec.model, plan.study.space),
        });
      },
      close: () => journal.close(),
    };
  } finally {
    await opened.close();
  }
}
