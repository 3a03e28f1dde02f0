import { readFile, stat } from 'node:fs/promises';
import { messageOf, TrituneError } from '../../base/errors.ts';
import { directorySample } from './directory-data.ts';
import { jsonStreams } from './json-data.ts';
import { type GivenShapes, invalidInput, type Sample } from './sample.ts';
import type { ModelTensors } from './tensor-spec.ts';

/** Lists of numbers take many times their size as text, so large tensors should use b64 or a directory anyway. */
const MAX_JSON_BYTES = 256 * 2 ** 20;

/** Returns the streams of data files and directories, in the order of the paths; a directory is a stream of one sample. Errors: INPUT_INVALID. */
export async function readStreams(
  paths: readonly string[],
  tensors: ModelTensors,
  shapes: GivenShapes,
): Promise<readonly (readonly Sample[])[]> {
  const streams: (readonly Sample[])[] = [];
  for (const path of paths) streams.push(...(await streamsOf(path, tensors, shapes)));
  return streams;
}

async function streamsOf(
  path: string,
  tensors: ModelTensors,
  shapes: GivenShapes,
): Promise<readonly (readonly Sample[])[]> {
  try {
    const entry = await stat(path);
    if (entry.isDirectory()) return [[await directorySample(path, tensors, shapes)]];
    if (!entry.isFile()) throw invalidInput(path, 'it is neither a file nor a directory', HINT);
    if (entry.size > MAX_JSON_BYTES) {
      throw invalidInput(
        path,
        `${entry.size} bytes are too many for a JSON file`,
        `give at most ${MAX_JSON_BYTES}, or the raw bytes of the tensors in a directory`,
      );
    }
    return jsonStreams(path, decoded(path, await readFile(path)), tensors, shapes);
  } catch (error) {
    if (error instanceof TrituneError) throw error;
    throw invalidInput(path, `it cannot be read: ${messageOf(error)}`, HINT);
  }
}

const HINT = 'give zero, random, a JSON file, or a directory with a file for each input';

function decoded(path: string, bytes: Uint8Array): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw invalidInput(path, 'it is not UTF-8 text', 'put raw bytes in a directory, in a file for each input');
  }
}
