import { realClock } from '#base/clock.ts';
import { TrituneError } from '#base/errors.ts';
import { formatDuration } from '#base/format.ts';
import { trituneVersion } from '#base/package.ts';
import { NS_PER_S } from '#base/units.ts';
import { capacityDocument } from '#capacity/document.ts';
import type { CapacityDocument } from '#capacity/document-schema.ts';
import type { CapacityEvent } from '#capacity/means.ts';
import type { CapacityLimit } from '#capacity/reading.ts';
import { runCapacity } from '#capacity/run.ts';
import { freshState } from '#capacity/state.ts';
import type { ProfileProgress } from '#profiler/progress.ts';
import { passDivision } from '#profiler/windows/whole-passes.ts';
import type { CapacitySpec } from '#spec/capacity-spec.ts';
import type { AnyProtocol } from '../server/find-protocol.ts';
import { rateSchedule } from '../traffic/schedule.ts';
import { findLimits, type PlayedWorkload } from '../traffic/workload.ts';
import { capacityTerms, readHardware } from './hardware.ts';
import { loadsOn } from './loads.ts';
import type { OpenCapacity } from './open-capacity.ts';
import { toQuestion } from './question.ts';

/** Callbacks of a search for a capacity. */
export interface CapacityListener {
  readonly onEvent: (event: CapacityEvent) => void;
  readonly onProgress: (progress: ProfileProgress) => void;
  /** Called with messages for people, such as assumptions about the requests. */
  readonly tell: (line: string) => void;
}

/**
 * Returns the limit in the options; the limits of a workload's classes are not known yet. Errors:
 * USAGE for options that are wrong for every server; INPUT_INVALID for wrong prices.
 */
export function readLimit(spec: AnyProtocol<CapacitySpec>): CapacityLimit {
  capacityTerms(spec);
  // A workload may have limits.
  const hasLimits = spec.workload !== undefined && spec.latencyBudget === undefined;
  return toQuestion(spec, { batch: spec.batch, followsHost: false, hasLimits }).limit;
}

/** Measurements of a workload that a search needs at least. */
const MIN_PASSES = 10;

/**
 * Finds the capacity of an open target. Returns the results, also if the run was interrupted after
 * the first rate. Errors: USAGE, INTERRUPTED, those of the target.
 */
export async function measureCapacity(
  spec: CapacitySpec,
  opened: OpenCapacity,
  { commandLine, watch }: { readonly commandLine: readonly string[]; readonly watch: CapacityListener },
  signal: AbortSignal,
): Promise<CapacityDocument> {
  const { target, service, requestTimeoutSeconds } = opened;
  const { plan, model, server, protocol } = service;
  const { windows, followsHost, batch } = target;
  const question = toQuestion(spec, {
    batch,
    followsHost,
    hasLimits: (plan.workload?.workload.classes ?? []).some((each) => findLimits(each) !== undefined),
  });
  for (const line of target.assumptions) watch.tell(line);
  const state = freshState();
  const startNs = realClock.nowNs();
  const loads = loadsOn(target, {
    budgetMs: question.limit.kind === 'latency' ? question.limit.budgetMs : null,
    seed: spec.seed,
    requestTimeoutSeconds,
    windows,
    workload: plan.workload && {
      perSecond: plan.workload.perSecond,
      passSeconds: computePassSeconds(plan.workload, spec),
    },
    scheduleAt: (perSecond, seed) =>
      plan.workload
        ? { kind: 'arrivals', plan: plan.workload.planAt(perSecond, seed) }
        : rateSchedule({ ...spec, seed }, perSecond),
    distribution: spec.requestDistribution,
    onProgress: watch.onProgress,
  });
  try {
    await runCapacity(question, state, { loads, clock: realClock, onEvent: watch.onEvent });
  } catch (error) {
    // Reports the results so far; there are none before the first rate.
    if (!signal.aborted || state.probes.length === 0) throw error;
  }
  const arrivals = plan.workload?.workload.name ?? spec.requestDistribution;
  const assumptions = target.assumptions.length > 0 ? { assumptions: [...target.assumptions] } : {};
  const head = { model, server, protocol, trituneVersion, arrivals, commandLine, ...assumptions };
  return capacityDocument(head, question, state, {
    wasInterrupted: signal.aborted,
    seconds: (realClock.nowNs() - startNs) / NS_PER_S,
    hardware: readHardware(spec, target, state),
  });
}

/**
 * Returns the seconds of a measurement of the workload. Errors: USAGE if not even one fits into the
 * time.
 */
function computePassSeconds({ passS, workload }: PlayedWorkload, { passes, timeBudget }: CapacitySpec): number {
  const division = passDivision(passS * NS_PER_S, Number.POSITIVE_INFINITY, passes);
  const seconds = division.passes * passS;
  if (seconds < timeBudget) return seconds;
  const whole = passes === undefined ? 'a pass' : `${passes} passes`;
  throw new TrituneError(
    'USAGE',
    `${whole} of the workload '${workload.name}' takes ${formatDuration(seconds)}, but --time-budget is ${formatDuration(timeBudget)}`,
    `shorten it with --time-scale ${Number((timeBudget / seconds / MIN_PASSES).toPrecision(1))}, or allow more time`,
  );
}
