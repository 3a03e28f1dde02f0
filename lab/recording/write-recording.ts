import { existsSync } from 'node:fs';
import { cpus, release, type as systemName, totalmem } from 'node:os';
import { basename } from 'node:path';
import { studyFiles } from '../../src/app/run-directory.ts';
import { isOfThisMachine } from '../../src/app/server/devices.ts';
import type { OpenStudy } from '../../src/app/study/study.ts';
import { isTrituneError, TrituneError } from '../../src/base/errors.ts';
import type { JsonObject } from '../../src/base/json.ts';
import { writeWhole } from '../../src/base/run-files.ts';
import type { StudySpec } from '../../src/spec/study-spec.ts';
import { foldStudy } from '../../src/study/records/fold.ts';
import { readJournal } from '../../src/study/records/journal.ts';
import { type PlannedRecording, recordingIn } from './plan-recording.ts';
import { toRecording } from './record-study.ts';
import { formatText, isRecording, type Recording, readGridFile } from './recording.ts';

/** The contents of a written grid. */
export interface WrittenRecording {
  readonly file: string;
  readonly points: number;
  readonly candidates: number;
}

/**
 * Writes the grid with the results so far in its journal. Returns what it wrote, null if nothing
 * was measured, and whether the grid has all of its points. Errors: OUTPUT_UNWRITABLE.
 */
export async function writeRecording(
  { spec, directory }: OpenStudy,
  { candidates, sampler }: PlannedRecording,
): Promise<{ readonly isComplete: boolean; readonly written: WrittenRecording | null }> {
  const { grid, levelValues: levels, repeats } = recordingIn(spec);
  const state = foldStudy(await readJournal(studyFiles(directory).journal));
  const isComplete = sampler.left({ trials: state.trials }) === 0;
  const recording = toRecording(state, {
    name: basename(grid, '.json'),
    candidates,
    complete: isComplete,
    levels,
    repeats,
    machine: thisMachine(state.server.controlUrl),
    options: measuredWith(spec),
  });
  if (!recording) return { isComplete: false, written: null };
  checkOverwritten(grid);
  await writeWhole(grid, formatText(recording));
  const points = recording.candidates.reduce((sum, each) => sum + each.points.length, 0);
  return { isComplete, written: { file: grid, points, candidates: recording.candidates.length } };
}

/** Errors: OUTPUT_EXISTS for a file that is no recording: a journal may name any file. */
export function checkOverwritten(grid: string): void {
  if (!existsSync(grid) || isRecordingIn(grid)) return;
  const message = `${grid} exists and is no recording, which would overwrite it`;
  throw new TrituneError('OUTPUT_EXISTS', message, 'move it, or choose another --output');
}

function isRecordingIn(file: string): boolean {
  try {
    return isRecording(readGridFile(file));
  } catch (error) {
    if (isTrituneError(error, 'INPUT_INVALID')) return false;
    throw error;
  }
}

function thisMachine(controlUrl: string): Recording['machine'] {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryMiB: Math.round(totalmem() / 2 ** 20),
    system: `${systemName()} ${release()} ${process.arch}, Node ${process.version}`,
    servedHere: isOfThisMachine(controlUrl),
  };
}

/** Returns the settings that affect the figures, and nothing about paths on this machine. */
function measuredWith({ server, measurement, traffic, seed, recording }: StudySpec): JsonObject {
  return {
    latencyLimitMs: recording?.latencyLimitMs ?? null,
    windowSeconds: recording?.windowSeconds ?? null,
    windows: recording?.windows ?? null,
    protocol: server.protocol,
    precisionPercent: measurement.precisionPercent,
    seed,
    batch: traffic.batch,
  };
}
