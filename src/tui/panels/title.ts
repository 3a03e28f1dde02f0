import { formatMs } from '#base/format.ts';
import { metricText } from '#study/goal/metrics/format.ts';
import { toMetrics } from '#study/goal/metrics/registry.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeConstraint, describeObjectives, describeServer } from '#study/summary/describe.ts';
import { latencyWarning } from '#study/summary/latency-note.ts';
import { foreign, type Row, row, span, spread } from '../rows.ts';
import type { ViewState } from '../state.ts';

/** The model, the server, the goal: two rows. */
export function titleRows({ study }: ViewState, width: number): readonly Row[] {
  if (!study) return [spread([span('tritune', 'strong')], [], width), row('')];
  const { started, server, goal } = study;
  const emulated = server.emulated === null ? [] : [span('  EMULATOR ', 'warning'), span(foreign(server.emulated))];
  const name: Row = [span('tritune ', 'muted'), span(foreign(started.model, 40), 'strong'), ...emulated];
  const where = `${describeServer(server)} · ${server.url} (${server.protocol})`;
  const budget: Row = goal.budget
    ? [span('budget ', 'muted'), span(`p${goal.budget.percentile} ≤ ${formatMs(goal.budget.latencyMs)}`, 'strong')]
    : [span('no latency budget', latencyWarning(started, goal) === null ? 'muted' : 'warning')];
  const others = goal.constraints.map((constraint) => ` · ${describeConstraint(constraint, toMetrics(goal))}`).join('');
  const wantedRow: Row = [
    span('best ', 'muted'),
    span(describeObjectives(goal.objectives)),
    span(' · ', 'muted'),
    ...budget,
    span(others),
  ];
  const device = deviceText(study);
  return [
    spread(name, [span(foreign(where), 'muted')], width),
    spread(wantedRow, [span(device ?? `sampler ${started.sampler}, seed ${started.seed}`, 'muted')], width),
  ];
}

/** Metrics that their units tell apart, so that one word can introduce all of them. */
const GAUGES = ['gpu-utilization', 'gpu-memory', 'gpu-power'];

/** Returns the GPU metrics of the latest measurement; null if the server reports none. */
function deviceText(study: StudyState): string | null {
  const trial = study.unfinished?.measurements.length ? study.unfinished : study.trials.at(-1);
  const measurement = trial?.measurements.at(-1);
  if (!trial || !measurement) return null;
  const metrics = toMetrics(study.goal);
  const texts = GAUGES.flatMap((name) => {
    const value = metrics.read(name, measurement, trial.candidate);
    return value === undefined ? [] : [metricText(metrics.named(name), Math.round(value))];
  });
  return texts.length === 0 ? null : `GPU ${texts.join(' · ')}`;
}
