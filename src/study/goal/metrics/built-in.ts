import { candidateMetrics } from './candidate-metrics.ts';
import { gpuAndCostMetrics } from './cost-metrics.ts';
import { goodput } from './goodput-metric.ts';
import { errorRate, loadMetrics } from './load-metrics.ts';
import type { Metric } from './metric.ts';
import { deviceMetrics, serverMetrics } from './server-metrics.ts';
import { tokenMetrics } from './token-metrics.ts';

/** The entries of `builtInMetrics`: an entry added here is a metric everywhere. */
export const builtInEntries: readonly Metric[] = [
  ...loadMetrics,
  ...serverMetrics,
  ...deviceMetrics,
  errorRate,
  ...candidateMetrics,
  ...tokenMetrics,
  goodput,
  ...gpuAndCostMetrics,
];
