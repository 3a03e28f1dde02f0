import { hostname } from 'node:os';
import { resolve } from 'node:path';
import { type LastHolder, readLastHolder } from '#adapter/triton/hold-model.ts';
import { isTrituneError, TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { fileLimits, readBytes } from '#base/read-file.ts';
import { typedWord as shown } from '#base/shell-words.ts';
import { readForRestoring, type StoredJournal } from '#study/records/journal.ts';
import { findHolder } from '#study/records/journal-lock.ts';
import { isUnbegun } from '#study/records/journal-text.ts';
import type { ServerIdentity, StudyRecord } from '#study/records/records.ts';
import { stateToRestore } from '#study/records/state-to-restore.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { RunMark } from '#triton/config/run-mark.ts';
import type { TritonClient } from '#triton/types.ts';
import { studyFiles } from '../run-directory.ts';
import { listOriginals } from '../target/triton/originals.ts';

/**
 * A model that a killed run left changed. `directory`: that of the run, if it can be restored from
 * this machine.
 */
export class LeftChangedError extends TrituneError {
  override readonly name = 'LeftChangedError';
  readonly model: string;
  readonly directory: string | null;

  constructor(model: string, { message, hint, directory }: Finding) {
    super('MODEL_LEFT_CHANGED', message, hint);
    this.model = model;
    this.directory = directory;
  }
}

interface Finding {
  readonly message: string;
  readonly hint: string;
  readonly directory: string | null;
}

/** A server and the connection to it. */
export interface Served {
  readonly client: TritonClient;
  readonly server: Pick<ServerIdentity, 'url' | 'controlUrl'>;
}

/**
 * Call before any config of these models, or of the parts of those that are ensembles, is taken for
 * an original one. `directory`: that of the run that calls; one that was killed in it before its
 * first record left nothing. Errors: MODEL_LEFT_CHANGED (a LeftChangedError) for a model that a
 * killed run left changed, MODEL_LOCKED for one that a run changes now, SERVER_*.
 */
export async function checkLeftovers(served: Served, models: readonly string[], directory?: string): Promise<void> {
  for await (const error of leftoversIn(served, models, directory)) throw error;
}

/** Returns the error that `checkLeftovers` throws, for each of the models that has one. */
export async function* leftoversIn(
  served: Served,
  models: readonly string[],
  caller?: string,
): AsyncGenerator<TrituneError> {
  const open = [...models];
  const seen = new Set<string>();
  for (let model = open.shift(); model !== undefined; model = open.shift()) {
    if (seen.has(model)) continue;
    seen.add(model);
    const config = await configIfLoaded(served.client, model);
    const error = await findLeftover(served, model, config, caller);
    if (error) yield error;
    if (config) open.push(...composingModels(config));
  }
}

/**
 * null if it cannot be read: for a model that is not loaded, and from servers of text models that
 * have no configs.
 */
async function configIfLoaded(client: TritonClient, model: string): Promise<ModelConfig | null> {
  try {
    return await client.modelConfig(model);
  } catch (error) {
    // What takes the config for an original reads it next, and reports the fault.
    if (isTrituneError(error)) return null;
    throw error;
  }
}

/**
 * This machine's lock knows of any change. The mark on the server is there on other machines, too,
 * and for longer.
 */
async function findLeftover(
  served: Served,
  model: string,
  config: ModelConfig | null,
  caller?: string,
): Promise<TrituneError | null> {
  const holder = await readLastHolder(model, served.server);
  // A second run gets MODEL_LOCKED where it takes the lock.
  if (holder === 'process') return null;
  const mark = config && (await served.client.runMark(model));
  if (mark && mark.host !== hostname()) return new LeftChangedError(model, fromElsewhere(served, model, mark));
  const directory = mark?.directory ?? holder?.directory;
  if (directory === undefined) return null;
  const { journal } = studyFiles(directory);
  const isCaller = caller !== undefined && resolve(caller) === directory;
  if (!isCaller && findHolder(`${journal}.lock`) === 'process') return inProgress(model, directory);
  const leftover = await foundIn(journal);
  // A marked config is sent after the first record: another journal is in its place.
  if (leftover === 'unreadable' || (mark && leftover.records.length === 0))
    return new LeftChangedError(model, withoutJournal(served, model, directory, holder));
  const isChanged = mark !== null || hasChanged(leftover, model, config);
  return isChanged ? new LeftChangedError(model, fromHere(model, directory)) : null;
}

/**
 * Returns the journal of a run; without records if it was killed before its first one, and so
 * before any change.
 */
async function foundIn(journal: string): Promise<StoredJournal | 'unreadable'> {
  try {
    return await readForRestoring(journal);
  } catch (error) {
    if (!isTrituneError(error, 'JOURNAL_INVALID')) throw error;
    const bytes = await readBytes(journal, fileLimits.journal).catch(() => null);
    return bytes !== null && isUnbegun(bytes) ? { records: [], origin: 'unmarked' } : 'unreadable';
  }
}

/**
 * True if the run changed the model and did not restore it, and nobody else has since. `current`:
 * its config, if it is loaded.
 */
function hasChanged(journal: StoredJournal, model: string, current: ModelConfig | null): boolean {
  if (journal.records.length === 0) return false;
  const { started, restored } = stateToRestore(journal);
  if (restored?.verified === true || restored?.how === 'nothing-changed') return false;
  const { launch, launchCommand } = started.spec.server;
  if (launch !== undefined || launchCommand !== undefined) return false;
  const original = listOriginals(started).find((each) => each.model === model);
  if (!original) return false;
  // The load that it was killed in may end, and swap the model, at any time.
  if (mayBeLoading(journal.records)) return true;
  if (current === null || !original.wasLoaded) return (current !== null) !== original.wasLoaded;
  return compareConfigs(original.config, current).length > 0;
}

/**
 * True if a load may be the next that the run did: that of a trial, or of a round of the final,
 * which no record announces.
 */
function mayBeLoading(records: readonly StudyRecord[]): boolean {
  const last = records.at(-1)?.type;
  if (last === 'trial-started') return true;
  const hasLoaded = records.some((record) => record.type === 'trial-started' && record.role === 'search');
  return hasLoaded && (last === 'trial-finished' || last === 'final-measured');
}

const fromHere = (model: string, directory: string): Finding => ({
  message: `a run that was killed left '${plainLine(model)}' changed`,
  hint: `tritune restore ${shown(directory)}, or add --restore-first`,
  directory,
});

const withoutJournal = ({ server }: Served, model: string, directory: string, holder: LastHolder | null): Finding => ({
  message: `a run that was killed left '${plainLine(model)}' changed, and its journal in ${shown(directory)} is gone`,
  hint: `${fromRepository(model, server)}${holder ? `; or, if the model is as it should be, delete ${holder.file}` : ''}`,
  directory: null,
});

function fromElsewhere({ server }: Served, model: string, { host, directory }: RunMark): Finding {
  const message = `a run of tritune on ${host === '' ? 'an unknown machine' : shown(host)} changed '${plainLine(model)}', and was killed or is still running`;
  const restore = host === '' ? '' : `tritune restore ${shown(directory)} there, or `;
  return { message, hint: `if it was killed: ${restore}${fromRepository(model, server)}`, directory: null };
}

const inProgress = (model: string, directory: string): TrituneError =>
  new TrituneError(
    'MODEL_LOCKED',
    `another run of tritune is tuning '${plainLine(model)}', in ${shown(directory)}`,
    'wait until it ends',
  );

/** Returns how to give a model the config in its repository when nobody knows the original one. */
const fromRepository = (model: string, { controlUrl }: Served['server']): string =>
  `load the config in its repository: tritune config -m ${shown(model)} -u ${shown(controlUrl)} --from ${shown(`REPOSITORY/${model}/config.pbtxt`)} --load`;

/** Names that a server gives are not typed as they are. */
