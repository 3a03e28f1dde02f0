import { paretoFront } from '#stats/front.ts';
import { representative } from '#study/final/final.ts';
import { isFeasible, listConstraints } from '#study/goal/goal.ts';
import { countedIn, metricHead, metricText } from '#study/goal/metrics/format.ts';
import type { Metric } from '#study/goal/metrics/metric.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import type { StudyState } from '#study/records/state.ts';
import { percentileLabel } from '#study/summary/limits-words.ts';
import { rateUnitOfStudy } from '#study/summary/rate-unit.ts';
import type { Constraint } from '#study/types.ts';
import { type ChartPoint, type FrontSeries, frontChart } from '../charts/front-chart.ts';
import type { Chart } from '../charts/svg.ts';
import { type PagePoint, pagePoints } from './points.ts';
import { standingKinds } from './standing-kinds.ts';

/** The measurements that the picture shows, and its limit. */
export interface Picture {
  readonly chart: Chart;
  readonly objective: Metric;
  readonly limited: Metric;
}

/**
 * Returns every measurement by the goal's own two figures: the first objective over the figure with
 * the tightest limit, or over latency without a limit. All figures are as in the comparison. The
 * picture has the front by these two figures, the limit as a line, and the original and the best by
 * name. null if nothing was measured.
 */
export function drawPicture(state: StudyState): Picture | null {
  const { goal } = state;
  const metrics = toMetrics(goal);
  const limit = tightestLimit(state);
  const named = (metric: string): Metric => countedIn(metrics.named(metric), rateUnitOfStudy(state));
  const requestedMetric = named(goal.objectives[0]?.metric ?? 'throughput');
  const limited = percentileNamed(named(limit?.metric ?? 'latency'), state);
  // A goal may be about latency itself. Then the other figure is throughput.
  const objective = requestedMetric.unit === 'ms' && limit === null ? named('throughput') : requestedMetric;
  if (objective.name === limited.name) return null;
  const points = pagePoints(state).flatMap((point): Placed[] => {
    const [x, y] = [limited, objective].map((metric) => comparedFigure(state, metric, point));
    return x === undefined || y === undefined || !(x > 0) ? [] : [{ point, x, y }];
  });
  if (points.length === 0) return null;
  const sign = (metric: Metric, value: number): number => (metric.better === 'higher' ? -value : value);
  const front = paretoFront(points.map(({ x, y }) => [sign(limited, x), sign(objective, y)])).map(
    (index) => points[index] as Placed,
  );
  const series = standingKinds.map(({ standing, ...kind }) => {
    const keptPoints = points.filter((one) => standingIn(one, front, state) === standing);
    return { ...kind, label: findLabel(keptPoints, points, objective, state), points: keptPoints.map(placed) };
  });
  const axes = {
    x: metricHead(limited),
    y: metricHead(objective),
    isLogX: limited.unit === 'ms',
    limit: limit && { value: limit.value, text: `${limitName(limit)} ${metricText(limited, limit.value)}` },
  };
  return {
    chart: frontChart(
      series,
      front.map(placed).sort((a, b) => a.x - b.x),
      axes,
    ),
    objective,
    limited,
  };
}

interface Placed {
  readonly point: PagePoint;
  readonly x: number;
  readonly y: number;
}

const placed = ({ point, x, y }: Placed): ChartPoint => ({ x, y, link: { href: `#${point.id}`, label: point.label } });

/** Returns a point's standing by the picture's own two figures. */
function standingIn(one: Placed, front: readonly Placed[], { goal, speeds }: StudyState): PagePoint['standing'] {
  const { standing, measurement, trial } = one.point;
  if (standing === 'best' || standing === 'original') return standing;
  if (front.includes(one)) return 'front';
  return isFeasible(speeds.comparable(measurement), trial.candidate, goal) ? 'within' : 'missed';
}

/** Returns a figure of a measurement as in the comparison: at the machine's usual speed. */
export const comparedFigure = (
  { goal, speeds }: StudyState,
  metric: Metric,
  { measurement, trial }: Pick<PagePoint, 'measurement' | 'trial'>,
): number | undefined => toMetrics(goal).read(metric.name, speeds.comparable(measurement), trial.candidate);

/** Points whose second figures differ by less than this share of the largest count as level. */
const SAME_HEIGHT = 0.1;

/** Returns the text next to the best and the original, if there is room; none for other points. */
function findLabel(
  [placed]: readonly Placed[],
  all: readonly Placed[],
  objective: Metric,
  state: StudyState,
): FrontSeries['label'] {
  const standing = placed?.point.standing;
  if (!placed || (standing !== 'best' && standing !== 'original')) return null;
  const isFeasible = state.best !== null && representative(state, state.best)?.feasible === true;
  const name = standing === 'original' ? 'your config' : isFeasible ? 'best' : 'nearest';
  const text = `${name}: ${metricText(objective, placed.y)}`;
  const other = all.find(({ point }) => point.standing === (standing === 'best' ? 'original' : 'best'));
  const isLevel = other && Math.abs(other.y - placed.y) < SAME_HEIGHT * Math.max(...all.map(({ y }) => y));
  if (isLevel)
    return { text, side: placed.y > other.y || (placed.y === other.y && standing === 'best') ? 'top' : 'bottom' };
  const xs = all.map(({ x }) => x);
  // The ends of the axis, which are powers of two.
  const [least, most] = [2 ** Math.floor(Math.log2(Math.min(...xs))), 2 ** Math.ceil(Math.log2(Math.max(...xs)))];
  const side = placed.x > Math.sqrt(least * most) ? 'left' : 'right';
  const isInside = placed.x > EDGE * least && placed.x * EDGE < most;
  // No point above the best serves more at a lower latency. A narrow page has no room for text in
  // the middle.
  return standing === 'best' && isInside ? { text, side: 'top', narrowSide: side } : { text, side };
}

/**
 * Centred text above a mark needs this much room on either side, as a factor of the first figure.
 */
const EDGE = 1.3;

/** A time without a percentile of its own uses the study's. */
function percentileNamed(metric: Metric, { trials }: StudyState): Metric {
  const [first] = trials.flatMap(({ measurements }) => measurements);
  return { ...metric, label: percentileLabel(metric, first?.budgetLatencyMs.percentile ?? 99) };
}

/** The latency has a budget; other metrics have limits. */
const limitName = ({ metric }: Constraint): string => (metric === 'latency' ? 'budget' : 'limit');

/** Returns the limit that the best is closest to; null if the goal limits only failed requests. */
function tightestLimit(state: StudyState): Constraint | null {
  const { goal } = state;
  const constraints = listConstraints(goal).filter(({ metric }) => metric !== 'error-rate');
  const best = pagePoints(state).find(({ standing }) => standing === 'best');
  const used = ({ metric, relation, value }: Constraint): number => {
    const ownValue = best && comparedFigure(state, toMetrics(goal).named(metric), best);
    if (ownValue === undefined) return 0;
    return relation === '<=' ? ownValue / value : value / ownValue;
  };
  const times = constraints.filter(({ metric }) => toMetrics(goal).named(metric).unit === 'ms');
  return (times.length > 0 ? times : constraints).toSorted((a, b) => used(b) - used(a))[0] ?? null;
}
