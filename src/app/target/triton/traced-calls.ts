import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join } from 'node:path';
import { createTracing } from '#adapter/triton/tracing.ts';
import { realClock } from '#base/clock.ts';
import { isTrituneError, TrituneError } from '#base/errors.ts';
import { fileLimits, readPieces } from '#base/read-file.ts';
import { isLoopback } from '#loadgen/loopback.ts';
import { readTraces, type Trace } from '#triton/control/trace-file.ts';
import type { Tracing } from '#tuner/seams.ts';
import type { OpenServer } from '../../server/open-server.ts';

/** Models by name. The value is the set of models that their traced requests called. */
export type TracedCalls = ReadonlyMap<string, ReadonlySet<string>>;

/** Larger files are not read: someone traces the server all the time. */
const MAX_BYTES = 64 * 2 ** 20;
const PUT_BACK_ATTEMPTS = 3;
const PUT_BACK_WAIT_MS = 500;

/**
 * Does the work while the server traces `count` requests, then reads from the trace file which
 * models called which. Changes nothing and finds nothing if the server is tracing already, or if
 * its file is not on this machine. Always restores the settings. Errors: the work's own;
 * RESTORE_FAILED.
 */
export async function whileTraced<T>(
  { client, server }: Pick<OpenServer, 'client' | 'server'>,
  count: number,
  work: () => Promise<T>,
): Promise<{ readonly result: T; readonly calls: TracedCalls }> {
  const tracing = createTracing(client);
  const traceTarget = isLoopback(server.url) ? await traceable(tracing) : null;
  if (!traceTarget) return { result: await work(), calls: new Map() };
  const { earlier, file } = traceTarget;
  const before = await readFiles(file);
  let result: T;
  try {
    await tracing.start(1, count);
    result = await work();
  } finally {
    await putBack(tracing, earlier);
  }
  const written = [...(await readFiles(file))].filter(
    ([name, bytes]) => bytes !== before.get(name) && bytes < MAX_BYTES,
  );
  return { result, calls: callsAmong(await tracesIn(written.map(([name]) => name))) };
}

/**
 * Returns the settings and the file of a server that could trace but does not; null for any other.
 */
async function traceable(tracing: Tracing) {
  try {
    const traceSettings = await tracing.look();
    const [level = 'OFF'] = traceSettings.earlier.trace_level ?? [];
    return level === 'OFF' && isAbsolute(traceSettings.file) && (await isDirectory(dirname(traceSettings.file)))
      ? traceSettings
      : null;
  } catch (error) {
    if (isTrituneError(error) && !isTrituneError(error, 'SERVER_UNREACHABLE', 'INTERRUPTED')) return null;
    throw error;
  }
}

const isDirectory = (path: string): Promise<boolean> =>
  stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  );

/**
 * Returns the sizes of the trace file and of the numbered files next to it, which Triton writes for
 * a limited number of requests.
 */
async function readFiles(file: string): Promise<ReadonlyMap<string, number>> {
  const directory = dirname(file);
  const rest = (name: string): string => name.slice(basename(file).length);
  const isOne = (name: string): boolean => name.startsWith(basename(file)) && /^(\.\d+)?$/.test(rest(name));
  const names = (await readdir(directory)).filter(isOne).map((name) => join(directory, name));
  return new Map(await Promise.all(names.map(async (name) => [name, (await stat(name)).size] as const)));
}

async function putBack(tracing: Tracing, earlier: Parameters<Tracing['putBack']>[0]): Promise<void> {
  for (let attempt = 1; attempt <= PUT_BACK_ATTEMPTS; attempt++) {
    if (await tracing.putBack(earlier).catch(() => false)) return;
    await realClock.sleep(PUT_BACK_WAIT_MS);
  }
  const settings = Object.entries(earlier).map(([name, values]) => `${name}=${values.join(',')}`);
  const hint = `set them by hand: ${settings.join(' ')}`;
  throw new TrituneError('RESTORE_FAILED', "the server's trace settings could not be restored", hint);
}

/** Returns nothing for a file that is not in Triton's format. */
const tracesIn = (files: readonly string[]): Promise<readonly Trace[]> =>
  readTraces(files.map((name) => ({ name, chunks: readPieces(name, fileLimits.log) }))).then(
    ({ traces }) => traces,
    () => [],
  );

function callsAmong(traces: readonly Trace[]): TracedCalls {
  const modelById = new Map(traces.map(({ id, model }) => [id, model]));
  const calls = new Map<string, Set<string>>();
  for (const { parentId, model } of traces) {
    const caller = parentId === null ? undefined : modelById.get(parentId);
    if (caller !== undefined) calls.set(caller, (calls.get(caller) ?? new Set()).add(model));
  }
  return calls;
}
