import { exitCodes } from '../../src/app/exit-codes.ts';
import { checkLeftovers } from '../../src/app/server/leftover.ts';
import { openServer, toServer } from '../../src/app/server/open-server.ts';
import { findSampler } from '../../src/app/study/find-sampler.ts';
import { describeTriton } from '../../src/app/target/triton/describe.ts';
import { leaveAsTheyWere, modelsNamedBy, readModels } from '../../src/app/target/triton/models.ts';
import { formatDuration } from '../../src/base/format.ts';
import type { Terminal } from '../../src/cli/terminal.ts';
import { defaultWindowRule } from '../../src/profiler/level-options.ts';
import type { RecordingSpec, StudySpec } from '../../src/spec/study-spec.ts';
import { type PlannedRecording, planRecording, recordingIn, toWindows } from './plan-recording.ts';

/**
 * Typical times of small Python models on a real Triton, apart from windows: warm-up of a point, a
 * full load, and a change of instances, each including the wait until the server is calm.
 */
const TYPICAL = { warmUpSeconds: 0.35, loadSeconds: 3, inPlaceSeconds: 2.5 };

/**
 * `--dry-run`: prints the number of points and their approximate duration. Changes nothing on a
 * running server.
 */
export async function dryRecording(spec: StudySpec, terminal: Terminal): Promise<number> {
  const named = modelsNamedBy({ spec, started: null });
  const opened = await openServer(toServer(spec), { laterModels: named.names }, null, new AbortController().signal);
  try {
    await checkLeftovers(opened, named.names);
    const models = await readModels(opened.client, named);
    await leaveAsTheyWere(opened.client, models);
    const sampler = await findSampler(spec);
    const study = { spec, sampler, earlier: [], started: null, commandLine: [], workloads: null };
    const triton = describeTriton(study, opened.server, models);
    const planned = planRecording(study, triton);
    terminal.print(triton.space.describe());
    for (const line of expectation(planned, recordingIn(spec))) terminal.print(line);
    return exitCodes.done;
  } finally {
    await opened.close();
  }
}

function expectation({ candidates, groups, sampler }: PlannedRecording, recording: RecordingSpec): string[] {
  const { repeats, levelValues: levels, latencyLimitMs } = recording;
  const points = sampler.left({ trials: [] });
  const { minWindows, minWindowMs } = { ...defaultWindowRule, ...toWindows(recording) };
  const pointSeconds = (minWindows * minWindowMs) / 1e3 + TYPICAL.warmUpSeconds;
  const inPlace = candidates.length - groups;
  const loadSeconds = repeats * (groups * TYPICAL.loadSeconds + inPlace * TYPICAL.inPlaceSeconds);
  const least = latencyLimitMs === undefined ? '' : 'at most ';
  return [
    `${candidates.length} candidates, the original config among them, at ${levels.join(', ')} requests in flight, ${repeats === 1 ? 'once' : `${repeats} times`}: ${least}${points} points`,
    `each round has ${groups} full loads and ${inPlace} changes of instances only`,
    `expected: ${least}${formatDuration(points * pointSeconds + loadSeconds)} for a small model that loads fast; nothing was changed`,
  ];
}
