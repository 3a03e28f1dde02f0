import { paretoFront } from '../../../stats/front.ts';
import { constraintsOf } from '../../../study/goal/goal.ts';
import { metricHead, metricText } from '../../../study/goal/metrics/format.ts';
import type { Metric } from '../../../study/goal/metrics/metric.ts';
import { metricsOf } from '../../../study/goal/metrics/registry.ts';
import type { StudyState } from '../../../study/records/state.ts';
import type { Constraint } from '../../../study/types.ts';
import { type FrontPoint, frontChart } from '../../charts/front-chart.ts';
import type { Chart } from '../../charts/svg.ts';
import { type PagePoint, pagePoints } from '../points.ts';
import { standingKinds } from '../standing-kinds.ts';

/** What the picture shows, and on which limit. */
export interface Picture {
  readonly chart: Chart;
  readonly objective: Metric;
  readonly limited: Metric;
}

/**
 * Returns every measurement by the goal's own two figures: the first objective over what the tightest limit is on, the latency where there is
 * none; with the front by these two, the limit as a line, and the original and the best by their names. null where nothing was measured.
 */
export function pictureOf(state: StudyState): Picture | null {
  const { goal } = state;
  const metrics = metricsOf(goal);
  const limit = tightestLimit(state);
  const asked = metrics.named(goal.objectives[0]?.metric ?? 'throughput');
  const limited = percentileNamed(metrics.named(limit?.metric ?? 'latency'), state);
  // A goal may be about the latency itself: then what is served for it is the other figure.
  const objective = asked.unit === 'ms' && limit === null ? metrics.named('throughput') : asked;
  if (objective.name === limited.name) return null;
  const points = pagePoints(state).flatMap((point): Placed[] => {
    const of = (metric: Metric): number | undefined =>
      metrics.read(metric.name, point.measurement, point.trial.candidate);
    const [x, y] = [of(limited), of(objective)];
    return x === undefined || y === undefined || !(x > 0) ? [] : [{ point, x, y }];
  });
  if (points.length === 0) return null;
  const middle = middleOf(points.map(({ x }) => x));
  const series = standingKinds.map(({ standing, ...kind }) => {
    const own = points.filter(({ point }) => point.standing === standing);
    const [first] = own;
    const isNamed = standing === 'best' || standing === 'original';
    const label =
      isNamed && first
        ? {
            text: `${kind.name}: ${metricText(objective, first.y)}`,
            side: first.x > middle ? ('left' as const) : ('right' as const),
          }
        : null;
    return { ...kind, label, points: own.map(placed) };
  });
  const sign = (metric: Metric, value: number): number => (metric.better === 'higher' ? -value : value);
  const front = paretoFront(points.map(({ x, y }) => [sign(limited, x), sign(objective, y)]))
    .map((index) => placed(points[index] as Placed))
    .sort((a, b) => a.x - b.x);
  const axes = {
    ...{ x: metricHead(limited), y: metricHead(objective), isLogX: limited.unit === 'ms' },
    limit: limit && { value: limit.value, text: `limit ${metricText(limited, limit.value)}` },
  };
  return { chart: frontChart(series, front, axes), objective, limited };
}

interface Placed {
  readonly point: PagePoint;
  readonly x: number;
  readonly y: number;
}

const placed = ({ point, x, y }: Placed): FrontPoint => ({ x, y, link: { href: `#${point.id}`, label: point.label } });

/** The middle of a logarithmic axis over these values. */
const middleOf = (values: readonly number[]): number => Math.sqrt(Math.min(...values) * Math.max(...values));

/** A time without a percentile of its own is of the study's. */
function percentileNamed(metric: Metric, { trials }: StudyState): Metric {
  const [first] = trials.flatMap(({ measurements }) => measurements);
  const isPlain = ['latency', 'ttft', 'itl', 'tpot'].includes(metric.name);
  return isPlain ? { ...metric, label: `p${first?.budgetLatencyMs.percentile ?? 99} ${metric.label}` } : metric;
}

/** Returns the limit that the best uses up most; null where the goal has none but that on failed requests. */
function tightestLimit(state: StudyState): Constraint | null {
  const { goal } = state;
  const asked = constraintsOf(goal).filter(({ metric }) => metric !== 'error-rate');
  const best = pagePoints(state).find(({ standing }) => standing === 'best');
  const used = ({ metric, relation, value }: Constraint): number => {
    const own = best && metricsOf(goal).read(metric, best.measurement, best.trial.candidate);
    if (own === undefined) return 0;
    return relation === '<=' ? own / value : value / own;
  };
  const times = asked.filter(({ metric }) => metricsOf(goal).named(metric).unit === 'ms');
  return (times.length > 0 ? times : asked).toSorted((a, b) => used(b) - used(a))[0] ?? null;
}
