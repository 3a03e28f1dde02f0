import { randomUUID } from 'node:crypto';
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { fileLimits, readTextSync } from '#base/read-file.ts';
import { userFolder } from '#base/user-folder.ts';
import type { CountedRequests } from '#space/client-batches.ts';
import type { TritonClient } from '#triton/types.ts';
import { formatName, readPlaces, type Server } from './hold-model.ts';

const counts = z.strictObject({ requests: z.number(), samples: z.number() });

/**
 * What the server had counted for a model at the end of the last run that sent to it, and what of
 * it such runs sent.
 */
const note = z.strictObject({ counted: counts, sent: counts });

/** null while a run sends, and after one that could not write its note. */
type Note = z.infer<typeof note> | null;

const NONE: CountedRequests = { requests: 0, samples: 0 };

/**
 * Notes that this process sends requests to these models, so that nobody takes its requests for
 * those of clients. Returns what is to be called when it has sent the last one. Without a writable
 * place there is no note.
 */
export async function noteSending(
  client: TritonClient,
  models: readonly string[],
  server: Server,
): Promise<() => Promise<void>> {
  const places = await readPlaces(server);
  const begun = await Promise.all(
    models.map(async (model) => {
      const before = await countedRequests(client, model).catch(() => null);
      return { model, before, sent: before && sentSoFar(model, places, before) };
    }),
  );
  const write = (model: string, content: Note): void => {
    for (const place of places) writeNote(toFileName(model, place), content);
  };
  for (const { model } of begun) write(model, null);
  return async () => {
    for (const { model, before, sent } of begun) {
      const after = await countedRequests(client, model).catch(() => null);
      if (!before || !sent || !after) continue;
      // A full load in between has set the counters, and what was sent before it, to zero.
      const now = isReset(before, after) ? after : plus(sent, minus(after, before));
      write(model, { counted: { requests: after.requests, samples: after.samples }, sent: now });
    }
  };
}

/**
 * Returns the requests of clients that the server has counted for a model since its last full load:
 * all but those of this user's runs on this machine. null if it is not known which are whose, or if
 * some were answered from the response cache, which counts no samples.
 */
export async function clientRequests(
  client: TritonClient,
  model: string,
  server: Server,
): Promise<CountedRequests | null> {
  const counted = await countedRequests(client, model).catch(() => null);
  if (!counted || counted.cached > 0) return null;
  const sent = sentSoFar(model, await readPlaces(server), counted);
  return sent && minus(counted, sent);
}

/** Returns what this user's runs have sent since the last full load; null if that is not known. */
function sentSoFar(model: string, places: readonly string[], counted: CountedRequests): CountedRequests | null {
  let most = NONE;
  for (const place of places) {
    const note = readNote(toFileName(model, place));
    if (note === null) return null;
    const { sent } = isReset(note.counted, counted) ? { sent: NONE } : note;
    // Every run is noted at each place that it knows.
    if (sent.requests > most.requests) most = sent;
  }
  return most;
}

const isReset = (before: CountedRequests, after: CountedRequests): boolean =>
  after.requests < before.requests || after.samples < before.samples;

const plus = (a: CountedRequests, b: CountedRequests): CountedRequests => ({
  requests: a.requests + b.requests,
  samples: a.samples + b.samples,
});

const minus = (a: CountedRequests, b: CountedRequests): CountedRequests => ({
  requests: a.requests - b.requests,
  samples: a.samples - b.samples,
});

async function countedRequests(client: TritonClient, model: string): Promise<CountedRequests & { cached: number }> {
  const counted = { requests: 0, samples: 0, cached: 0 };
  for (const { success, inferenceCount, cacheHit } of await client.statistics(model)) {
    counted.requests += success.count;
    counted.samples += inferenceCount;
    counted.cached += cacheHit.count;
  }
  return counted;
}

/** The note on a model, in the user's folder for state. */
const toFileName = (model: string, place: string): string =>
  join(userFolder('state'), 'sent', `${formatName(model, place)}.json`);

function writeNote(file: string, content: Note): void {
  const fresh = `${file}.${randomUUID()}`;
  try {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    // A new file, so that no link which somebody put there is followed.
    writeFileSync(fresh, JSON.stringify(content), { flag: 'wx', mode: 0o600 });
    renameSync(fresh, file);
  } catch {
    // As said: then without it.
  }
}

function readNote(file: string): Note {
  try {
    const read = note.safeParse(JSON.parse(readTextSync(file, fileLimits.document)));
    return read.success ? read.data : null;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? { counted: NONE, sent: NONE } : null;
  }
}
