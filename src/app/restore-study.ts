import { readdir } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join, resolve } from 'node:path';
import { whileHeld } from '#adapter/triton/hold-model.ts';
import { createTracing } from '#adapter/triton/tracing.ts';
import { realClock } from '#base/clock.ts';
import { isTrituneError, TrituneError } from '#base/errors.ts';
import type { HeaderSpec, ProtectSpec, TlsSpec } from '#spec/server-spec.ts';
import { type Journal, readForRestoring, resumeForRestoring } from '#study/records/journal.ts';
import type { StudyState } from '#study/records/state.ts';
import { stateToRestore } from '#study/records/state-to-restore.ts';
import type { TraceControl } from '#triton/types.ts';
import { splitAddresses } from '#triton/wire/address-list.ts';
import { admitRun, type Trust } from './admit-run.ts';
import { controlTarget } from './control-target.ts';
import { journalToWrite, RUNS_DIRECTORY, studyFiles } from './run-directory.ts';
import { effectsOfRestoring, listSecrets } from './run-effects.ts';
import { tlsInAddress } from './server/address-text.ts';
import { type Addresses, connectControl } from './server/addresses.ts';
import { checkAdapter } from './server/check-adapter.ts';
import { checkOwn } from './server/check-own.ts';
import { readHeaders } from './server/headers.ts';
import type { Replicas } from './server/open-server.ts';
import { checkNames, checkProtected } from './server/protect.ts';
import { readTls } from './server/read-tls.ts';
import { pickTls, wantsTls, warnIfInsecure } from './server/tls.ts';
import { studiesIn } from './study/series-directory.ts';
import { controlOver } from './target/triton/control.ts';
import { listOriginals } from './target/triton/originals.ts';

/** How and where to restore a model, if not as its journal says. */
export interface RestoreRequest extends TlsSpec, HeaderSpec, ProtectSpec, Trust {
  readonly url?: string | undefined;
  /** null for the way in the study's spec. */
  readonly how: 'config' | 'reload' | null;
  /** Overwrites even a config that another client has set since. */
  readonly force: boolean;
}

const FORCE_IT = 'add --force to put the config from before the run back anyway';

/**
 * Restores one study's models and records that; of a damaged journal it needs only the first
 * record. Returns a description of what it did. Errors: RESTORE_FAILED, SERVER_*, OUTPUT_LOCKED,
 * MODEL_LOCKED, RUN_UNTRUSTED, JOURNAL_INVALID, UNSUPPORTED for a study of another kind of server,
 * USAGE for a protected model.
 */
export async function restoreRun(directory: string, options: RestoreRequest): Promise<string> {
  const admit = admitRun(directory, ['restore'], (run) => effectsOfRestoring(run, options), options);
  const { journal, ...rest } = await resumeForRestoring(await journalToWrite(directory), async (each) => {
    if (idleWords(stateToRestore(each), options) === null) await admit(each);
  });
  try {
    const state = stateToRestore(rest);
    const idle = idleWords(state, options);
    if (idle !== null) return `nothing to do: ${idle}`;
    const { started } = state;
    checkAdapter(started);
    if (rest.fault !== undefined) options.tell(`${rest.fault}; its first record is sound, and restores the model`);
    const originals = listOriginals(started);
    const models = originals.map(({ model }) => model);
    checkNames(models, options);
    const addresses = await controlAddresses(state, options);
    const url = addresses.map((each) => each.url).join();
    const { replicas, unreached, close } = await connectAll(addresses);
    const [client] = replicas;
    try {
      return await whileHeld(models, { url, controlUrl: url }, async () => {
        for (const model of models) await checkProtected(client, model, options);
        const { records, fault } = rest;
        for (const replica of options.force ? [] : replicas) {
          const wasSent = async (model: string): Promise<boolean> => {
            const mark = fault === undefined ? null : await replica.runMark(model);
            return mark?.host === hostname() && mark.directory === resolve(directory);
          };
          await checkOwn(replica, records, started, FORCE_IT, wasSent);
        }
        const { loadTimeoutSeconds } = started.spec.limits;
        const mayBeLoading =
          fault !== undefined || records.some((record) => record.type === 'trial-started' && record.role === 'search');
        const limits = { loadTimeoutSeconds, mayBeLoading };
        const control = controlOver(replicas, originals, options.how ?? started.spec.server.restore, limits);
        const restored = await control.restore();
        if (unreached)
          throw new TrituneError('RESTORE_FAILED', `${unreached.message}; ${restored.detail}`, unreached.hint, {
            cause: unreached,
          });
        await journal.append({ type: 'model-restored', at: new Date(realClock.wallMs()).toISOString(), ...restored });
        if (!restored.verified) {
          throw new TrituneError('RESTORE_FAILED', restored.detail, 'check the config on the server');
        }
        return `${restored.detail}${await putTracingBack(state, client, journal)}`;
      });
    } finally {
      await close();
    }
  } finally {
    await journal.close();
  }
}

/**
 * Restores the server's trace settings too, if a run was killed while it traced. Errors:
 * RESTORE_FAILED, SERVER_*.
 */
async function putTracingBack(state: StudyState, client: TraceControl, journal: Journal): Promise<string> {
  if (!state.tracing || !isTracing(state)) return '';
  const verified = await createTracing(client).putBack(state.tracing.started.earlier);
  const detail = verified ? 'as they were before' : 'the server has other settings than were sent';
  await journal.append({ type: 'tracing-ended', at: new Date(realClock.wallMs()).toISOString(), verified, detail });
  if (verified) return '; the trace settings are as they were before';
  throw new TrituneError('RESTORE_FAILED', `trace settings: ${detail}`, 'check the trace settings of the server');
}

/**
 * Returns the control addresses and protocol of the run, unless the options override them. Warns
 * where they are insecure.
 */
async function controlAddresses(state: StudyState, options: RestoreRequest): Promise<readonly Addresses[]> {
  const { url, isGrpc, headers, withheld } = controlTarget(state, options);
  const { started } = state;
  const before = started.spec.server;
  if (withheld !== null)
    for (const secret of listSecrets(withheld, started.server.controlUrl))
      options.tell(
        `the study ${secret}, and restore does not send it to ${url}: name it again, such as with --token-env`,
      );
  const spec = wantsTls(options) ? options : before;
  const isSecure = tlsInAddress(options.url ?? before.controlUrl ?? before.url) ?? wantsTls(spec);
  const tls = isSecure ? await readTls(spec) : undefined;
  warnIfInsecure({ ...headers, ...(isSecure && { ...pickTls(spec), tls: true }), url }, options);
  return splitAddresses(url).map((each) => ({
    protocol: isGrpc ? 'grpc' : 'http',
    url: each,
    tls,
    control: isGrpc ? { url: each, tls, isGuess: false } : null,
    metricsUrl: '',
    headers: readHeaders(headers),
  }));
}

/** The servers of a run: one, or those that served as one. */
interface RunServers {
  /** Those that can be reached. */
  readonly replicas: Replicas;
  /** Why another one cannot. */
  readonly unreached: TrituneError | null;
  close(): Promise<void>;
}

/** Connects to as many as can be reached. Errors: SERVER_* if none can. */
async function connectAll(addresses: readonly Addresses[]): Promise<RunServers> {
  const connections = await Promise.allSettled(addresses.map(connectControl));
  const connected = connections.flatMap((each) => (each.status === 'fulfilled' ? [each.value] : []));
  const [fault] = connections.flatMap((each) => (each.status === 'rejected' ? [each.reason as unknown] : []));
  const [first, ...others] = connected;
  if (!first || (fault !== undefined && !isTrituneError(fault))) {
    for (const { client } of connected) await client.close();
    throw fault;
  }
  return {
    replicas: [first.client, ...others.map(({ client }) => client)],
    unreached: fault ?? null,
    close: async () => {
      for (const { client } of connected) await client.close();
    },
  };
}

/** Returns why there is nothing to restore; null if there is. */
function idleWords(state: StudyState, { force }: RestoreRequest): string | null {
  const { launch, launchCommand } = state.started.spec.server;
  if (isBack(state) && !isTracing(state) && !force) return state.restored?.detail ?? '';
  return launch === undefined && launchCommand === undefined
    ? null
    : 'the server was started for the run and stopped with it';
}

const isBack = (state: StudyState): boolean => state.restored?.verified === true;
const isTracing = ({ tracing }: StudyState): boolean => tracing !== null && tracing.ended?.verified !== true;

/** Returns the studies in the directories of runs, single or in series. Errors: JOURNAL_INVALID. */
export const readStudies = async (runs: readonly string[]): Promise<readonly string[]> =>
  (await Promise.all(runs.map(studiesIn))).flat();

/** Returns the studies in the default directory whose journals do not end with a restored model. */
export async function unrestoredRuns(): Promise<string[]> {
  const entries = await readdir(RUNS_DIRECTORY, { withFileTypes: true }).catch(() => []);
  const runs = entries.filter((entry) => entry.isDirectory()).map((entry) => join(RUNS_DIRECTORY, entry.name));
  const studies = await Promise.all(runs.map((run) => readable(studiesIn(run), [])));
  const unrestored: string[] = [];
  for (const directory of studies.flat()) {
    const state = await readable(stateIn(directory), null);
    if (state && (!isBack(state) || isTracing(state)) && state.started.spec.server.launch === undefined)
      unrestored.push(directory);
  }
  return unrestored;
}

const stateIn = async (directory: string): Promise<StudyState> =>
  stateToRestore(await readForRestoring(studyFiles(directory).journal));

/** Returns `otherwise` if there is no journal, because the directory may contain other things. */
const readable = <T, O>(reading: Promise<T>, otherwise: O): Promise<T | O> =>
  reading.catch((error: unknown) => {
    if (isTrituneError(error, 'JOURNAL_INVALID')) return otherwise;
    throw error;
  });
