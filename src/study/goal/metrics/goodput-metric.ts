import type { Measurement } from '#profiler/measurement.ts';
import { findGoodput } from '#profiler/windows/class-figures.ts';
import type { Interval } from '#stats/interval.ts';
import type { Metric } from './metric.ts';

const NONE: Interval = { value: Number.NaN, low: Number.NaN, high: Number.NaN };
const computeRate = (measurement: Measurement): Interval => findGoodput(measurement) ?? NONE;

/** Requests that keep their limits, for tensor models and language models alike. */
export const goodput: Metric = {
  name: 'goodput',
  label: 'goodput',
  description: 'requests per second that keep all limits of `--goodput`, or of their request class',
  unit: 'req/s',
  units: { 'req/s': 1, '/s': 1 },
  better: 'higher',
  needs: ['limits'],
  interval: { from: 'windows', of: computeRate },
  read: (measurement) => computeRate(measurement).value,
  columns: [
    { name: 'goodput_per_s', read: (measurement) => computeRate(measurement).value },
    { name: 'goodput_per_s_low', read: (measurement) => computeRate(measurement).low },
    { name: 'goodput_per_s_high', read: (measurement) => computeRate(measurement).high },
  ],
};
