import { type AutoscalerKind, autoscalerKinds, autoscalers } from '#autoscale/autoscaler.ts';
import { chooseValues } from '#autoscale/choose-values.ts';
import type { ScalingDocument } from '#autoscale/document.ts';
import { printManifest } from '#autoscale/manifest.ts';
import { recordedTraffic } from '#autoscale/recorded-traffic.ts';
import { scaleToPeak, type TrafficCurve, toTrafficCurve } from '#autoscale/traffic-curve.ts';
import { TrituneError } from '#base/errors.ts';
import { formatDuration, formatFigure } from '#base/format.ts';
import { trituneVersion } from '#base/package.ts';
import { writeWhole } from '#base/run-files.ts';
import { DEFAULT_DOCKER_IMAGE } from '#spec/server-spec.ts';
import type { Interval } from '#stats/interval.ts';
import { usableRate } from '#stats/replicas.ts';
import { readWorkload } from '#workload/read-workload.ts';

/** An autoscaler's object, and the file for it. */
export interface EmittedObject {
  readonly kind: AutoscalerKind;
  readonly file: string;
}

export interface ScalingOptions {
  readonly emit?: readonly EmittedObject[] | undefined;
  /** Requests per second in the busiest time. */
  readonly forRate?: number | undefined;
  /** A workload file with the traffic of a day, or of any other time. */
  readonly forTraffic?: string | undefined;
  /** Seconds from the start of a replica until it serves. */
  readonly replicaStart?: number | undefined;
  /** Percentage of the requests for which the limit should hold, and certainty of the capacity. */
  readonly holdChance?: number | undefined;
}

/** What the objects should hold. */
export interface ScalingQuestion {
  readonly emitted: readonly EmittedObject[];
  readonly traffic: readonly TrafficCurve[];
  readonly startSeconds: number;
  readonly isStartAssumed: boolean;
  /** As a share. */
  readonly holdShare: number;
}

/** What one replica was seen to do. */
export interface SeenReplica {
  readonly model: string;
  /** Requests per second within the limit. */
  readonly capacity: Interval;
  /** The most requests per second, late or not. */
  readonly saturationPerSecond: number;
  /** null where the limit is none of latency. */
  readonly budgetMs: number | null;
  /** In words, such as `p99 within 50 ms`. */
  readonly limit: string;
  /** How long it took to recover from a burst. */
  readonly recoverySeconds: number;
  readonly isPredicted: boolean;
}

const DEFAULT_START_S = 60;
const DEFAULT_HOLD_PERCENT = 95;

/**
 * Returns what the options ask of autoscalers; null without --emit. Errors: USAGE; INPUT_INVALID
 * for a file that is no workload.
 */
export async function readScalingQuestion(options: ScalingOptions): Promise<ScalingQuestion | null> {
  const { emit, forRate, forTraffic, replicaStart, holdChance = DEFAULT_HOLD_PERCENT } = options;
  if (!emit || emit.length === 0) {
    const useless = forTraffic === undefined ? replicaStart !== undefined && '--replica-start' : '--for-traffic';
    if (useless)
      throw new TrituneError('USAGE', `${useless} has no use without --emit`, 'leave it out, or add --emit keda FILE');
    return null;
  }
  for (const { file, kind } of emit) {
    if (file === '') throw new TrituneError('USAGE', `--emit ${kind} names no file`, `write --emit ${kind} FILE`);
  }
  if (forRate === undefined && forTraffic === undefined) {
    throw new TrituneError(
      'USAGE',
      '--emit needs the traffic to serve',
      'add --for-rate N, the requests per second of the busiest time, or --for-traffic WORKLOAD',
    );
  }
  const curves = forTraffic === undefined ? recordedTraffic : [toTrafficCurve(await readWorkload(forTraffic))];
  return {
    emitted: emit,
    traffic: forRate === undefined ? curves : curves.map((curve) => scaleToPeak(curve, forRate)),
    startSeconds: replicaStart ?? DEFAULT_START_S,
    isStartAssumed: replicaStart === undefined,
    holdShare: holdChance / 100,
  };
}

/**
 * Chooses the values of each autoscaler, and writes its object. Returns them. Errors:
 * OUTPUT_UNWRITABLE; USAGE for a capacity that may be 0.
 */
export async function emitAutoscalers(
  question: ScalingQuestion,
  replica: SeenReplica,
): Promise<readonly ScalingDocument[]> {
  const { emitted, traffic, startSeconds, holdShare } = question;
  const capacityPerSecond = usableRate(replica.capacity, { chance: holdShare, headroom: 0 });
  if (capacityPerSecond === 0) {
    throw new TrituneError(
      'USAGE',
      `nothing is emitted: the capacity of '${replica.model}' is too uncertain`,
      'measure for longer, or allow a higher latency',
    );
  }
  const figures = {
    capacityPerSecond,
    saturationPerSecond: Math.max(replica.saturationPerSecond, capacityPerSecond),
    budgetSeconds: replica.budgetMs === null ? 1 : replica.budgetMs / 1e3,
    startSeconds,
  };
  const documents: ScalingDocument[] = [];
  for (const { kind, file } of emitted) {
    const wish = { holdShare, leastScaleDownSeconds: replica.recoverySeconds };
    const { values, outcomes, holds } = chooseValues(traffic, figures, autoscalers[kind], wish);
    const document = {
      kind,
      file,
      isPredicted: replica.isPredicted,
      ...values,
      startSeconds,
      holdShare,
      holds,
      traffic: outcomes,
    };
    const service = {
      model: replica.model,
      image: DEFAULT_DOCKER_IMAGE,
      remarks: listRemarks(question, replica, document),
    };
    await writeWhole(file, printManifest(document, service));
    documents.push(document);
  }
  return documents;
}

function listRemarks(
  { isStartAssumed }: ScalingQuestion,
  { model, capacity, limit, isPredicted }: SeenReplica,
  { startSeconds, holdShare, traffic, targetPerSecond }: ScalingDocument,
): readonly string[] {
  const range = `${formatFigure(capacity.low)} to ${formatFigure(capacity.high)}`;
  return [
    `Written by tritune ${trituneVersion}. A replica of '${model}' serves ${formatFigure(capacity.value)} requests/s (${range}) with ${limit}:`,
    isPredicted ? 'predicted from live traffic, not measured.' : 'measured under load.',
    `Each replica is for ${formatFigure(targetPerSecond)} requests/s, and serves ${formatDuration(startSeconds)} after its start${isStartAssumed ? ' (assumed: see --replica-start)' : ''}.`,
    `The limit should hold for ${formatFigure(100 * holdShare)} % of the requests. In simulation it did not for:`,
    ...traffic.map(
      ({ name, hours, brokenShare, replicaHours, clairvoyantHours }) =>
        `  ${(100 * brokenShare).toFixed(1)} % of '${name}' (${formatDuration(3600 * hours)}), with ${formatFigure(replicaHours / clairvoyantHours)} times the replica-hours of a clairvoyant`,
    ),
  ];
}

/** Returns the parsed texts of --emit, which alternate between kinds and files. Errors: USAGE. */
export function parseEmitted(text: string, previous: readonly EmittedObject[] = []): readonly EmittedObject[] {
  const last = previous.at(-1);
  if (last?.file === '') return [...previous.slice(0, -1), { ...last, file: text }];
  const kind = autoscalerKinds.find((each) => each === text);
  if (kind !== undefined) return [...previous, { kind, file: '' }];
  throw new TrituneError(
    'USAGE',
    `'${text}' is not an autoscaler`,
    `write one of ${autoscalerKinds.join(', ')} and a file, such as --emit keda scaled.yaml`,
  );
}
