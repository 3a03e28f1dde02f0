import { paretoFront } from '../../../stats/front.ts';
import type { Foreseen } from '../../types.ts';
import type { Forecast } from './outlook.ts';
import type { Prospect } from './prospects.ts';

/** The throughput/latency front of what could be measured next, by rising throughput; of candidates that seem alike, one. */
export function foreseenFront(prospects: readonly Prospect[], forecast: Forecast): readonly Foreseen[] {
  const points = prospects.flatMap(({ choice, level }) => forecast.foreseen(choice, level) ?? []);
  return paretoFront(points.map(({ throughput, latencyMs }) => [-throughput, latencyMs]))
    .map((index) => points[index] as Foreseen)
    .sort((a, b) => a.throughput - b.throughput)
    .filter(({ throughput }, index, front) => throughput !== front[index - 1]?.throughput);
}
