import type { Measurement } from '#profiler/measurement.ts';
import { toOriginal } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import { viewSpace } from '#study/search/samplers/space-view.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { ViewFold, type ViewState } from '#tui/state.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { goalOf, originalConfig, studyStarted } from '../study/builders.ts';
import { everyCandidate, instancesIn, play, refuseAbove, World } from '../tuner/world.ts';

/** The search space of the recorded run, as its journal has it. */
const space = {
  name: 'test',
  parameters: {
    max_batch_size: [1, 4, 8],
    queue_delay_us: { values: [0, 500], when: { max_batch_size: { above: 1 } } },
    // On the CPU, as the original config is.
    instances: {
      cases: [
        { when: { device: 'gpu' }, values: [1, 64] },
        { when: { device: 'cpu' }, values: [1, 2, 3, 4] },
      ],
    },
  },
  rules: [{ require: 'max_batch_size * instances <= 24', message: 'all batches together are above 24' }],
};

/**
 * The events of a run in a world where three instances fit, with all that a server can tell of
 * itself.
 */
export async function recordedRun(): Promise<readonly TunerEvent[]> {
  const world = new World();
  world.refuse = refuseAbove(3);
  world.bend = withServer;
  const { type: _, at: __, ...study } = studyStarted(goalOf(40), { space });
  const view = viewSpace(spaceFromJson(space), toOriginal(originalConfig));
  const parts = { sampler: everyCandidate(view), build: view.build };
  const { events } = await play({ world, plan: { maxTrials: 6, study }, parts });
  return events.flatMap((event) => (event.type === 'measuring' ? [event, ...windows(event)] : [event]));
}

/** With all that a server can tell of itself. */
export function withServer(measurement: Measurement, config: ModelConfig): Measurement {
  const ms = measurement.latencyMs.avg;
  const batch = config.max_batch_size ?? 1;
  const executions = Math.round(measurement.requests / batch);
  return {
    ...measurement,
    server: {
      queueUs: ms * 300,
      computeInputUs: ms * 50,
      computeInferUs: ms * 400,
      computeOutputUs: ms * 50,
      overheadUs: ms * 10,
      requestUs: ms * 810,
      successCount: measurement.requests,
      inferenceCount: measurement.requests,
      executionCount: executions,
      failCount: 0,
      cache: { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 },
      batches: [
        { size: 1, executions: Math.round(executions / 4), meanExecutionUs: 4_000 },
        { size: batch + 1, executions, meanExecutionUs: 5_000 },
      ],
    },
    device: { gpuUtilizationPercent: 20 * instancesIn(config), gpuMemoryMiB: 900, gpuPowerW: 120.4 },
  };
}

function windows({ trial, level }: Extract<TunerEvent, { type: 'measuring' }>): TunerEvent[] {
  const latest = {
    throughput: 90,
    latencyAvgMs: 10,
    latencyStdMs: 1,
    latencyPercentileMs: 12,
    requests: 45,
    durationMs: 500,
  };
  const progress = { phase: 'window', window: 2, throughput: 95.2, latencyMs: 10.4, latest } as const;
  return [{ type: 'progress', trial, level, progress }];
}

/** The events up to the one of which `holds` is true, that one among them. */
export function upTo(events: readonly TunerEvent[], holds: (event: TunerEvent) => boolean): readonly TunerEvent[] {
  const at = events.findIndex(holds);
  if (at < 0) throw new Error('the recorded run has no such event');
  return events.slice(0, at + 1);
}

export const midRun = (events: readonly TunerEvent[]): readonly TunerEvent[] =>
  upTo(events, (event) => event.type === 'progress' && event.trial === 5 && event.progress.phase === 'window');

/** What the screen knows after these events. */
export function viewAfter(events: readonly TunerEvent[]): ViewState {
  const fold = new ViewFold();
  for (const event of events) fold.add(event);
  return fold.view();
}
