import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { packagePath } from '../../src/base/package.ts';
import { checkRecording, readGridFile } from '../recording/recording.ts';
import { otherServer } from './other-servers.ts';
import type { TestProblem } from './problem.ts';
import { toRecordedProblem } from './recorded-problem.ts';
import { scenario } from './scenarios.ts';

const gridFolder = packagePath('lab/grids');

/** Returns the first `count` synthetic models. */
export const scenarios = (count: number): TestProblem[] => Array.from({ length: count }, (_, index) => scenario(index));

/** Returns the first `count` synthetic servers with queues unlike Triton's. */
export const otherServers = (count: number): TestProblem[] =>
  Array.from({ length: count }, (_, index) => otherServer(index));

/** Returns every grid that was recorded on a real server. */
export function recordedGrids(): TestProblem[] {
  const files = readdirSync(gridFolder).filter((file) => file.endsWith('.json'));
  return files.sort().map((file) => toGrid(join(gridFolder, file)));
}

/** Reads the recorded grid in that file. Errors: INPUT_INVALID. */
export function toGrid(file: string): TestProblem {
  return toRecordedProblem(checkRecording(readGridFile(file), file));
}
