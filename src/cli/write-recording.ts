import { cpus, release, type as systemName, totalmem } from 'node:os';
import { basename } from 'node:path';
import type { JsonObject } from '../base/json.ts';
import { writeWhole } from '../report/write-run.ts';
import { foldStudy } from '../study/fold.ts';
import { readJournal } from '../study/journal.ts';
import { recordingOf } from '../tuner/offline/record-study.ts';
import { type Recording, textOf } from '../tuner/offline/recording.ts';
import { studyFiles } from './output-directory.ts';
import type { PlannedRecording, RecordRequest } from './plan-recording.ts';
import type { Terminal } from './terminal.ts';

/** Writes the grid as far as its journal goes, and says so; gives whether it has all of its points. Errors: OUTPUT_UNWRITABLE. */
export async function writeRecording(
  { options, directory, model }: RecordRequest,
  { candidates, sampler }: PlannedRecording,
  terminal: Terminal,
): Promise<boolean> {
  const state = foldStudy(await readJournal(studyFiles(directory).journal));
  const complete = sampler.left({ trials: state.trials }) === 0;
  const recording = recordingOf(state, {
    ...{ name: basename(options.grid, '.json'), candidates, complete },
    ...{ levels: options.levelValues, repeats: options.repeats },
    ...{ machine: thisMachine(state.server.controlUrl), options: measuredWith(options) },
  });
  if (!recording) return false;
  await writeWhole(options.grid, textOf(recording));
  const points = recording.candidates.reduce((sum, each) => sum + each.points.length, 0);
  terminal.print(`${options.grid}: ${points} points of ${recording.candidates.length} candidates of ${model}`);
  return complete;
}

function thisMachine(controlUrl: string): Recording['machine'] {
  return {
    processor: cpus()[0]?.model.trim() ?? 'unknown',
    cores: cpus().length,
    memoryMiB: Math.round(totalmem() / 2 ** 20),
    system: `${systemName()} ${release()} ${process.arch}, Node ${process.version}`,
    servedHere: /^(localhost|127\.|\[::1\])/.test(controlUrl),
  };
}

/** What has a part in the figures; nothing about where things are on this machine. */
function measuredWith(options: RecordRequest['options']): JsonObject {
  const { latencyLimit = null, window = null, windows = null, protocol, precision, seed, batch } = options;
  return {
    latencyLimitMs: latencyLimit,
    windowSeconds: window,
    windows,
    protocol,
    precisionPercent: precision,
    seed,
    batch,
  };
}
