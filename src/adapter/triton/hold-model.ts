import { createHash } from 'node:crypto';
import { lookup } from 'node:dns/promises';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { withDeadline } from '#base/abort.ts';
import { isTrituneError, TrituneError } from '#base/errors.ts';
import { isLoopback } from '#loadgen/loopback.ts';
import { findHolder, isLockedByOther, takeLock, type Unlock } from '#study/records/journal-lock.ts';
import type { ServerIdentity } from '#study/records/records.ts';
import { splitAddresses } from '#triton/wire/address-list.ts';

/** A server as runs on this machine know it. */
export type Server = Pick<ServerIdentity, 'url' | 'controlUrl'>;

/**
 * Holds models for this process: no other tritune on this machine changes one until the returned
 * function releases them. A server has no such lock, so two machines do not know of each other;
 * there a measurement notices foreign requests, or a config that it did not send. `directory`: that
 * of the run, which `readLastHolder` gives if the run ends without releasing the models. Errors:
 * MODEL_LOCKED.
 */
export async function holdModels(models: readonly string[], server: Server, directory?: string): Promise<Unlock> {
  const places = await readPlaces(server);
  const held: Unlock[] = [];
  const letGo: Unlock = (how) => {
    for (const unlock of held) unlock(how);
  };
  try {
    // Everyone uses the same order, so that no two processes hold one each and wait.
    for (const model of [...new Set(models)].sort())
      for (const place of places) held.push(takeIfPossible(lockFile(model, place), model, place, directory));
    return letGo;
  } catch (error) {
    letGo();
    throw error;
  }
}

/** Returns the models that other runs of tritune on this machine hold. */
export async function heldByOthers(models: readonly string[], server: Server): Promise<ReadonlySet<string>> {
  const places = await readPlaces(server);
  return new Set(models.filter((model) => places.some((place) => isLockedByOther(lockFile(model, place)))));
}

/** A run on this machine that ended without releasing a model, and its lock file. */
export interface LastHolder {
  readonly directory: string;
  readonly file: string;
}

/**
 * Returns the last holder of a model; `process` if one on this machine holds it now, this one
 * included; null if there is none.
 */
export async function readLastHolder(model: string, server: Server): Promise<LastHolder | 'process' | null> {
  const files = (await readPlaces(server)).map((place) => lockFile(model, place));
  const holders = files.map((file) => ({ file, holder: findHolder(file) }));
  if (holders.some(({ holder }) => holder === 'process')) return 'process';
  const [last] = holders.flatMap(({ file, holder }) =>
    holder === null || holder === 'process' ? [] : [{ file, directory: holder.directory }],
  );
  return last ?? null;
}

/**
 * Does the work while holding the models. With the `directory` of a run, a failure leaves the
 * models to `readLastHolder`. Errors: MODEL_LOCKED; those of the work.
 */
export async function whileHeld<T>(
  models: readonly string[],
  server: Server,
  work: () => Promise<T>,
  directory?: string,
): Promise<T> {
  const letGo = await holdModels(models, server, directory);
  try {
    const done = await work();
    letGo();
    return done;
  } catch (error) {
    letGo(directory === undefined ? undefined : 'leave');
    throw error;
  }
}

/** The lock is a convenience: a machine without a writable place tunes without it. */
function takeIfPossible(path: string, model: string, place: string, directory?: string): Unlock {
  try {
    return takeLock(path, (file, holder) => heldBy(model, place, file, holder), directory);
  } catch (error) {
    if (isTrituneError(error, 'OUTPUT_UNWRITABLE')) return () => undefined;
    throw error;
  }
}

const heldBy = (model: string, place: string, file: string, holder: string): TrituneError =>
  new TrituneError(
    'MODEL_LOCKED',
    `another run of tritune${holder && ` (${holder})`} is tuning '${model}' on ${place}`,
    `wait until it ends; if there is no such run, delete ${file}`,
  );

const lockFile = (model: string, place: string): string => join(tmpdir(), `tritune-${formatName(model, place)}.lock`);

/** Returns a name of a model on a server, for a file about it. */
export const formatName = (model: string, place: string): string =>
  createHash('sha256').update(`${place}\0${model}`).digest('hex').slice(0, 24);

/**
 * Returns the names of a server, or of several that serve as one: each is known by the address of
 * its requests and by that of its control calls.
 */
export const readPlaces = async ({ url, controlUrl }: Server): Promise<readonly string[]> =>
  [...new Set(await Promise.all([url, controlUrl].flatMap(splitAddresses).map(readPlace)))].sort();

const LOOKUP_LIMIT_MS = 2_000;

/** Returns one name for all names of a server; localhost for this machine's own addresses. */
async function readPlace(address: string): Promise<string> {
  const at = address.lastIndexOf(':');
  const host = address.slice(0, at).replace(/^\[|\]$/g, '');
  const ip = await withDeadline(lookup(host), LOOKUP_LIMIT_MS, tooSlow).then(
    (address) => address.address,
    () => host,
  );
  const localAddresses = Object.values(networkInterfaces()).flatMap((all) => all?.map((each) => each.address) ?? []);
  const isOwn = localAddresses.includes(ip) || isLoopback(ip) || ip === '0.0.0.0' || ip === '::';
  return `${isOwn ? 'localhost' : ip}:${address.slice(at + 1)}`;
}

const tooSlow = (): TrituneError =>
  new TrituneError('SERVER_TIMEOUT', 'the name lookup gave no answer in time', 'use an IP address');
