import { TrituneError } from '#base/errors.ts';
import type { CapacityDocument } from '#capacity/document-schema.ts';
import { limitText } from '#capacity/words.ts';
import { emitAutoscalers, readScalingQuestion, type ScalingOptions, type ScalingQuestion } from '../emit-autoscaler.ts';
import type { ServiceKind } from '../profile/service.ts';

/**
 * Returns what the options ask of autoscalers; null without --emit. Errors: USAGE, also for a kind
 * of service without the metrics of Triton; INPUT_INVALID.
 */
export async function readCapacityScaling(kind: ServiceKind, options: ScalingOptions): Promise<ScalingQuestion | null> {
  const reading = options.emit?.find((each) => each.kind !== 'knative');
  if (reading && kind !== 'triton') {
    throw new TrituneError(
      'USAGE',
      `the object of ${reading.kind} counts requests by Triton's metrics, which this service has not`,
      'use --emit knative FILE, whose proxy counts them',
    );
  }
  return readScalingQuestion(options);
}

/**
 * Returns the document with the autoscalers whose objects were written. Errors: OUTPUT_UNWRITABLE.
 */
export async function withAutoscalers(
  document: CapacityDocument,
  question: ScalingQuestion | null,
): Promise<CapacityDocument> {
  const { capacity, limit, burst, model, saturation } = document;
  if (!question || !capacity) return document;
  const recoveries = burst?.plays.map(({ recoveredAfterSeconds }) => recoveredAfterSeconds ?? 0) ?? [];
  const replica = {
    model,
    capacity,
    limit: limitText(limit),
    budgetMs: limit.budgetMs,
    isPredicted: false,
    saturationPerSecond: saturation?.perSecond ?? 0,
    recoverySeconds: Math.max(0, ...recoveries),
  };
  return { ...document, autoscalers: await emitAutoscalers(question, replica) };
}
