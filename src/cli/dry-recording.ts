import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { formatDuration } from '../base/format.ts';
import { defaultWindowRule } from '../profiler/level-options.ts';
import { describeSpace } from '../space/describe.ts';
import { exitCodes } from './exit-codes.ts';
import { openServer, readOriginal } from './open-server.ts';
import { type PlannedRecording, planRecording } from './plan-recording.ts';
import type { RecordStudyOptions } from './record-options.ts';
import type { Terminal } from './terminal.ts';
import { modelOf } from './tune-request.ts';
import { leaveAsItWas } from './tune-study.ts';

/** What small Python models took on a real Triton beside the windows: warm-up of a point, a full load and a change of instances, each with the calm after it. */
const TYPICAL = { warmUpSeconds: 0.35, loadSeconds: 3, inPlaceSeconds: 2.5 };

/** `--dry-run`: says how many points there are and about how long they would take. Nothing is changed on a server that was there. */
export async function dryRecording(options: RecordStudyOptions, terminal: Terminal): Promise<number> {
  const model = modelOf(options);
  const logs = await mkdtemp(join(tmpdir(), 'tritune-plan-'));
  const opened = await openServer(options, { loadModels: [model] }, logs, new AbortController().signal);
  try {
    const original = await readOriginal(opened.client, model);
    await leaveAsItWas(opened.client, model, original);
    const planned = planRecording({ options, model, earlier: [], started: null }, opened.server, original);
    terminal.print(describeSpace(planned.space, planned.plan.study.originalConfig));
    for (const line of expectation(planned, options)) terminal.print(line);
    return exitCodes.done;
  } finally {
    await opened.close();
    await rm(logs, { recursive: true, force: true });
  }
}

function expectation(
  { candidates, groups, sampler, windows = {} }: PlannedRecording,
  options: RecordStudyOptions,
): string[] {
  const { repeats, levelValues: levels } = options;
  const points = sampler.left({ trials: [] });
  const { minWindows, minWindowMs } = { ...defaultWindowRule, ...windows };
  const pointSeconds = (minWindows * minWindowMs) / 1e3 + TYPICAL.warmUpSeconds;
  const inPlace = candidates.length - groups;
  const loadSeconds = repeats * (groups * TYPICAL.loadSeconds + inPlace * TYPICAL.inPlaceSeconds);
  const least = options.latencyLimit === undefined ? '' : 'at most ';
  return [
    `${candidates.length} candidates, the original config among them, at ${levels.join(', ')} requests in flight, ${repeats === 1 ? 'once' : `${repeats} times`}: ${least}${points} points`,
    `in each round ${groups} full loads and ${inPlace} changes of instances alone`,
    `expected: ${least}${formatDuration(points * pointSeconds + loadSeconds)} for a small model that loads fast; nothing was changed`,
  ];
}
