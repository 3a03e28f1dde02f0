import type { Metric } from './metric.ts';

/** Metrics of the candidate itself. */
export const candidateMetrics: readonly Metric[] = [
  {
    name: 'instances',
    label: 'instances',
    description: 'instances of the model, over all groups and GPUs',
    unit: '',
    units: {},
    better: 'lower',
    interval: null,
    needs: ['candidate'],
    read: (_, candidate) => candidate.shape.policy.instances,
    columns: [],
  },
  {
    name: 'max-batch-size',
    label: 'max batch size',
    description: 'largest batch that the config allows; 0 without batching',
    unit: 'samples',
    units: {},
    better: 'lower',
    interval: null,
    needs: ['candidate'],
    read: (_, candidate) => candidate.shape.policy.maxBatchSize,
    columns: [],
  },
];
