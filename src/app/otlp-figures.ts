import type { CapacityDocument } from '#capacity/document-schema.ts';
import type { LevelReport } from '#profiler/level-report.ts';
import { describeLevel } from '#study/summary/describe.ts';
import type { Summary } from '#study/summary/summary-schema.ts';

/** Values by name, as OpenTelemetry has them. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** One number of a run, with its unit by UCUM (https://ucum.org). */
export interface TelemetryFigure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
  readonly attributes: Attributes;
}

const RATES = { infer: '{inference}/s', request: '{request}/s' } as const;

/** An estimate with its interval; null where a document has none. */
type Bounds = Readonly<Record<'value' | 'low' | 'high', number | null>>;

/** Returns an estimate and both ends of its interval, told apart by `tritune.bound`. */
function listBounds(
  name: string,
  unit: string,
  { value, low, high }: Bounds,
  attributes: Attributes,
): readonly TelemetryFigure[] {
  return Object.entries({ estimate: value, low, high }).flatMap(([bound, each]) =>
    each !== null && Number.isFinite(each)
      ? [{ name, unit, value: each, attributes: { ...attributes, 'tritune.bound': bound } }]
      : [],
  );
}

/** Returns the figures of the best config and of the original one, and the gain. */
export function listStudyFigures({ best, baseline, gain }: Summary): readonly TelemetryFigure[] {
  const points = [
    ['best', best],
    ['original', baseline],
  ] as const;
  return [
    ...points.flatMap(([config, point]) => {
      if (point === null) return [];
      const { throughput, budgetLatencyMs, rateUnit } = point;
      const attributes = { 'tritune.config': config };
      const unit = rateUnit === 'requests/s' ? RATES.request : RATES.infer;
      return [
        ...listBounds('tritune.throughput', unit, throughput, attributes),
        ...listLatencies(budgetLatencyMs, attributes),
      ];
    }),
    ...(gain === null
      ? []
      : listBounds('tritune.gain', '1', { value: gain.ratio, low: gain.low, high: gain.high }, {})),
  ];
}

/** Returns the figures of each level. */
export const listProfileFigures = (reports: readonly LevelReport[]): readonly TelemetryFigure[] =>
  reports.flatMap(({ level, measurement: { throughput, budgetLatencyMs, errorRate } }) => {
    const attributes = { 'tritune.level': describeLevel(level) };
    return [
      ...listBounds('tritune.throughput', RATES.infer, throughput, attributes),
      ...listLatencies(budgetLatencyMs, attributes),
      { name: 'tritune.error_rate', unit: '1', value: errorRate, attributes },
    ];
  });

const listLatencies = (
  { percentile, ...latencyMs }: Bounds & { readonly percentile: number },
  attributes: Attributes,
): readonly TelemetryFigure[] =>
  listBounds('tritune.latency', 'ms', latencyMs, { ...attributes, 'tritune.percentile': percentile });

/** Returns the capacity, and the saturation. */
export const listCapacityFigures = ({ capacity, saturation }: CapacityDocument): readonly TelemetryFigure[] => [
  ...(capacity ? listBounds('tritune.capacity', RATES.request, capacity, {}) : []),
  ...(saturation
    ? [{ name: 'tritune.saturation', unit: RATES.request, value: saturation.perSecond, attributes: {} }]
    : []),
];
