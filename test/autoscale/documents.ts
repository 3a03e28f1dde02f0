import type { ScalingDocument } from '#autoscale/document.ts';

/** The values of an autoscaler for a service. */
export const aScaling: ScalingDocument = {
  kind: 'keda',
  file: 'scaled.yaml',
  isPredicted: false,
  targetPerSecond: 160,
  minReplicas: 2,
  maxReplicas: 15,
  scaleDownSeconds: 300,
  startSeconds: 60,
  holdShare: 0.95,
  holds: true,
  traffic: [
    { name: 'website', hours: 24, peakPerSecond: 2000, brokenShare: 0.034, replicaHours: 113, clairvoyantHours: 100 },
  ],
};
