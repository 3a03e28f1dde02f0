import type { CapacityDocument } from '#capacity/document-schema.ts';
import { type CsvCell, csvText } from './csv.ts';

type Point =
  | CapacityDocument['probes'][number]
  | CapacityDocument['cliff'][number]
  | NonNullable<CapacityDocument['at']>;

/**
 * Returns every measurement at a rate as a table: those of the search in chronological order, then
 * those beyond the capacity, then bursts.
 */
export function capacityCsv({ limit, probes, cliff, burst }: CapacityDocument): string {
  const p = `p${limit.percentile}`;
  const head = [
    ...['kind', 'requests_per_second', 'kept', `${p}_ms`, `${p}_low_ms`, `${p}_high_ms`, 'p50_ms', 'p99_ms'],
    ...['bad_share', 'error_rate', 'served_per_second', 'seconds', 'host_speed'],
  ];
  const row = (kind: string, point: Point, kept: boolean | null, speed: number | null): readonly CsvCell[] => {
    const { perSecond, percentileMs, p50Ms, p99Ms, badShare, errorRate, servedPerSecond, seconds } = point;
    return [
      ...[kind, perSecond, kept === null ? null : kept ? 'yes' : 'no'],
      ...[percentileMs?.value, percentileMs?.low, percentileMs?.high, p50Ms, p99Ms],
      ...[badShare, errorRate, servedPerSecond, seconds, speed],
    ];
  };
  return csvText([
    head,
    ...probes.map((probe) => row('search', probe, probe.isKept, probe.speed)),
    ...cliff.map((point) => row('beyond', point, null, null)),
    ...(burst?.plays ?? []).map((play) => row('burst', play, play.isKept, null)),
  ]);
}
