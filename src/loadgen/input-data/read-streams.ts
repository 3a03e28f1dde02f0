import { stat } from 'node:fs/promises';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { fileLimits, readBytes } from '#base/read-file.ts';
import { directorySample } from './directory-data.ts';
import { jsonStreams } from './json-data.ts';
import { invalidInput, type Sample, type StatedShapes } from './sample.ts';
import type { ModelTensors } from './tensor-spec.ts';

/**
 * Returns the streams of data files and directories, in the order of the paths; a directory is a
 * stream of one sample. Errors: INPUT_INVALID.
 */
export async function readStreams(
  paths: readonly string[],
  tensors: ModelTensors,
  shapes: StatedShapes,
): Promise<readonly (readonly Sample[])[]> {
  const streams: (readonly Sample[])[] = [];
  for (const path of paths) streams.push(...(await readFileStreams(path, tensors, shapes)));
  return streams;
}

async function readFileStreams(
  path: string,
  tensors: ModelTensors,
  shapes: StatedShapes,
): Promise<readonly (readonly Sample[])[]> {
  try {
    if ((await stat(path)).isDirectory()) return [[await directorySample(path, tensors, shapes)]];
    return jsonStreams(path, decoded(path, await readBytes(path, fileLimits.inputData)), tensors, shapes);
  } catch (error) {
    if (error instanceof TrituneError) throw error;
    throw invalidInput(path, `it cannot be read: ${formatMessage(error)}`, HINT);
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
