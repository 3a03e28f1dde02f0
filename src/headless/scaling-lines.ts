import type { ScalingDocument } from '#autoscale/document.ts';
import { formatDuration, formatFigure, plainLine } from '#base/format.ts';

/** Returns the values of autoscalers, and what they give in simulation. */
export const scalingLines = (scalings: readonly ScalingDocument[]): readonly string[] =>
  scalings.flatMap((scaling) => {
    const { kind, targetPerSecond, minReplicas, maxReplicas, scaleDownSeconds, startSeconds, traffic } = scaling;
    const { holds, holdShare, isPredicted } = scaling;
    const replicas = minReplicas === maxReplicas ? `${minReplicas}` : `${minReplicas} to ${maxReplicas}`;
    return [
      `${kind}${isPredicted ? ' (predicted)' : ''}: ${formatFigure(targetPerSecond)} requests/s for each replica, ${replicas} replicas, fewer after ${formatDuration(scaleDownSeconds)}`,
      ...(holds
        ? []
        : [`  no values hold the limit for ${formatFigure(100 * holdShare)} % of the requests in simulation:`]),
      ...traffic.map(
        ({ name, hours, peakPerSecond, brokenShare, replicaHours, clairvoyantHours }) =>
          `  ${plainLine(name, 60)} (${formatDuration(3600 * hours)}, up to ${formatFigure(peakPerSecond)} requests/s): the limit does not hold for ${(100 * brokenShare).toFixed(1)} % of the requests; ${formatFigure(replicaHours)} replica-hours, ${formatFigure(replicaHours / clairvoyantHours)} times those of a clairvoyant`,
      ),
      `  for replicas that serve ${formatDuration(startSeconds)} after their start`,
    ];
  });
