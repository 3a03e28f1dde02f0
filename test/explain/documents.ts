import type { ServiceExplanation } from '#explain/explanation.ts';

/** An explanation of one model. */
export const anExplanation: ServiceExplanation = {
  schemaVersion: 1,
  trituneVersion: '0.2.0',
  at: '2026-11-30T08:00:00.000Z',
  server: { name: 'triton', version: '2.51.0', url: 'gpu-box:8001' },
  budget: { percentile: 99, latencyMs: 50 },
  models: [
    {
      model: 'detector',
      seconds: 300,
      traffic: {
        requestsPerSecond: { value: 80.3, low: 79.3, high: 81.3 },
        failedPerSecond: 0,
        samplesPerRequest: 1,
        arrivals: 'poisson',
        dispersion: { value: 1.04, low: 0.85, high: 1.27 },
      },
      timesMs: { request: 17.4, queue: 13.8, execution: 3.6, other: 0 },
      batches: { mean: 2.64, largest: 32, sizes: [{ size: 2, executions: 9130, meanExecutionMs: 3.6 }] },
      instances: { count: 1, busy: 0.106 },
      causes: [{ code: 'delay-never-fills', sure: 'sure', evidence: 'batches of 2.64 of at most 32 wait 20 ms' }],
      present: {
        ceiling: { value: 2757, low: 1102, high: 4304 },
        latencyMs: { mean: 17.3, queue: 13.7, tail: 24.1 },
        headroom: 34.3,
      },
      proposal: {
        ceiling: { value: 2941, low: 1163, high: 4600 },
        latencyMs: { mean: 6.9, queue: 3.6, tail: 9.8 },
        changes: [{ path: 'dynamic_batching.max_queue_delay_microseconds', before: '20000', after: '5000' }],
        assignment: { max_batch_size: 32, dynamic_batching: true, queue_delay_us: 5000 },
        config: { name: 'detector', max_batch_size: 32, dynamic_batching: { max_queue_delay_microseconds: 5000 } },
      },
      unknown: ['how long batches of more than 8 take, which the ceilings need'],
      settle: "load the proposed config of 'detector' on a replica without traffic, and profile it there",
    },
  ],
  idle: ['classifier'],
};
