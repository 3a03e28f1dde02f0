/** The common part of metrics that are times: milliseconds, where less is better. */
export const latencyParts = {
  unit: 'ms',
  units: { us: 1e-3, ms: 1, s: 1e3 },
  better: 'lower',
  interval: null,
  needs: [],
} as const;
