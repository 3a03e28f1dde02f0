import { replicasFor } from '#stats/replicas.ts';

/** The autoscalers whose objects can be written. */
export const autoscalerKinds = ['keda', 'hpa', 'knative'] as const;

export type AutoscalerKind = (typeof autoscalerKinds)[number];

/** How an autoscaler decides. Times are in seconds. */
export interface Autoscaler {
  /** Time between two decisions. */
  readonly syncSeconds: number;
  /** The rate is the mean over this time. */
  readonly windowSeconds: number;
  /**
   * `arrivals`: it counts requests as they come. `answers`: as they are answered, and divides those
   * that wait by the window, so that a full server's traffic is seen.
   */
  readonly counts: 'arrivals' | 'answers';
  /** Age of the newest figure when it is used. */
  readonly delaySeconds: number;
  /** Relative difference from the target within which nothing changes. */
  readonly tolerance: number;
  /** Each decision may multiply the replicas by `factor`, or add `replicas`, if that is more. */
  readonly growth: { readonly factor: number; readonly replicas: number };
  /**
   * Where the mean over a shorter time is this multiple of what the replicas are for, it counts.
   */
  readonly panic: { readonly windowSeconds: number; readonly factor: number } | null;
}

/**
 * Kubernetes' horizontal pod autoscaler decides every 15 s with a tolerance of 10 %
 * (--horizontal-pod-autoscaler-sync-period, --horizontal-pod-autoscaler-tolerance), and at most
 * doubles or adds four pods in 15 s (the default behavior of autoscaling/v2). The rate is one over
 * a minute, of counters that Prometheus reads every 15 s or so. KEDA gives its metrics to the same
 * autoscaler.
 */
const horizontal: Autoscaler = {
  syncSeconds: 15,
  windowSeconds: 60,
  counts: 'answers',
  delaySeconds: 10,
  tolerance: 0.1,
  growth: { factor: 2, replicas: 4 },
  panic: null,
};

/**
 * Knative's proxies count requests as they come. Its defaults (config-autoscaler): a decision every
 * 2 s, stable-window 60 s, panic-window-percentage 10, panic-threshold-percentage 200,
 * max-scale-up-rate 1000.
 */
const knative: Autoscaler = {
  syncSeconds: 2,
  windowSeconds: 60,
  counts: 'arrivals',
  delaySeconds: 1,
  tolerance: 0,
  growth: { factor: 1000, replicas: 0 },
  panic: { windowSeconds: 6, factor: 2 },
};

export const autoscalers: Readonly<Record<AutoscalerKind, Autoscaler>> = { keda: horizontal, hpa: horizontal, knative };

/** The values of an autoscaler for one service. */
export interface ScalingValues {
  /** Requests per second for each replica. */
  readonly targetPerSecond: number;
  readonly minReplicas: number;
  readonly maxReplicas: number;
  /** A lower number is taken once it was enough for this long. */
  readonly scaleDownSeconds: number;
}

/** The mean rate over an autoscaler's window, and over its panic window. */
export interface TrafficReading {
  readonly perSecond: number;
  readonly panicPerSecond: number;
}

/**
 * Returns the replicas that the autoscaler wants: the rate over the target, rounded up, unless the
 * replicas fit within the tolerance (Kubernetes' HPA for AverageValue, Knative's KPA). `replicas`:
 * all that were started, also those that do not serve yet.
 */
export function desiredReplicas(
  { tolerance, panic }: Autoscaler,
  { targetPerSecond, minReplicas, maxReplicas }: ScalingValues,
  { perSecond, panicPerSecond }: TrafficReading,
  replicas: number,
): number {
  const isPanic = panic !== null && panicPerSecond >= panic.factor * replicas * targetPerSecond;
  const rate = isPanic ? panicPerSecond : perSecond;
  const ratio = rate / (targetPerSecond * replicas);
  const desired = Math.abs(ratio - 1) <= tolerance ? replicas : replicasFor(rate, targetPerSecond);
  return Math.min(maxReplicas, Math.max(minReplicas, desired));
}
