import { formatFigure } from '#base/format.ts';
import { lookUp } from '#base/look-up.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { Interval } from '#stats/interval.ts';
import { busiestStage, type StageSplit } from '#study/analysis/stages.ts';
import { representative } from '#study/final/final.ts';
import { budgetsOfModels } from '#study/goal/goal-of-models.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeLevel } from '#study/summary/describe.ts';
import type { Trial } from '#study/types.ts';
import { type Html, html, none } from '../html.ts';
import { listSplits } from './stage-bars.ts';
import { table } from './table.ts';

interface ShownStages {
  readonly name: string;
  readonly trial: Trial;
  readonly measurement: Measurement;
}

/**
 * For models that are tuned together, returns what the clients of each saw and where the time went,
 * in the best and in the original.
 */
export function stagesSection(state: StudyState): Html {
  if (!state.started.topology) return none;
  const shown = [
    ...describeTrial(state, state.best, 'best'),
    ...(state.best === state.baseline ? [] : describeTrial(state, state.baseline, 'original')),
  ];
  if (shown.length === 0) return none;
  return html`<h2>Models</h2>
${frontsTable(state, shown)}
${stagesTable(state, shown)}`;
}

function describeTrial(state: StudyState, trial: Trial | null, name: string): ShownStages[] {
  const measurement = trial && representative(state, trial)?.measurement;
  return trial && measurement ? [{ name, trial, measurement }] : [];
}

function frontsTable({ goal }: StudyState, shown: readonly ShownStages[]): Html {
  const [first] = shown;
  if (!first?.measurement.fronts) return none;
  const budgets = budgetsOfModels(goal);
  const hasBudgets = Object.keys(budgets).length > 0;
  const rows = first.measurement.fronts.flatMap(({ model }) =>
    shown.flatMap(({ name, measurement }) => {
      const front = measurement.fronts?.find((each) => each.model === model);
      if (!front) return [];
      const cells = [
        describeLevel(front.level),
        withInterval(front.throughput),
        withInterval(front.budgetLatencyMs),
        ...(hasBudgets ? [formatFigure(lookUp(budgets, model) ?? Number.NaN)] : []),
        `${formatFigure(100 * front.errorRate)} %`,
      ];
      return [[model, name, ...cells]];
    }),
  );
  const heads = [
    ...['model', 'config', 'share of the load', 'infer/s', `p${first.measurement.budgetLatencyMs.percentile}, ms`],
    ...(hasBudgets ? ['budget, ms'] : []),
    'failed',
  ];
  return table({ id: 'fronts', caption: 'What the clients of each model saw', heads, rows });
}

function stagesTable(state: StudyState, shown: readonly ShownStages[]): Html {
  const splits = shown.map((each) => ({ ...each, splits: listSplits(state, each.trial, each.measurement) }));
  const models = [...new Set(splits.flatMap((each) => each.splits.map(({ model }) => model)))];
  if (models.length === 0) return none;
  const isPipeline = state.started.topology?.fronts.length === 1;
  const hasCalls = splits.some((each) => each.splits.some(({ callsMs }) => callsMs > 0));
  const columns = listColumns(isPipeline, hasCalls);
  const rows = models.flatMap((model) =>
    splits.flatMap((each) => {
      const split = each.splits.find((one) => one.model === model);
      if (!split) return [];
      const isBusiest = busiestStage(each.splits) === split;
      return [[model, each.name, ...columns.map(([, of]) => of(split)), isBusiest ? 'busiest' : '']];
    }),
  );
  return html`${table({
    id: 'stages',
    caption: "Mean time of a request in each model, from the server's own statistics",
    heads: ['model', 'config', ...columns.map(([head]) => head), ''],
    rows,
  })}
<p class="soft">An instance is busy while it executes${hasCalls ? ', and while it waits for the models that it calls' : ''}. Add instances of the busiest model first, unless its hardware is fully used.</p>`;
}

type Column = readonly [head: string, of: (split: StageSplit) => string];

const listColumns = (isPipeline: boolean, hasCalls: boolean): readonly Column[] => [
  ...(isPipeline ? [['per request', ({ timesPerRequest: n }) => formatFigure(n)] satisfies Column] : []),
  ['queue, ms', ({ queueMs }) => shortMs(queueMs)],
  ['compute, ms', ({ computeMs }) => shortMs(computeMs)],
  ...(hasCalls ? [['calls, ms', ({ callsMs }) => shortMs(callsMs)] satisfies Column] : []),
  ['mean batch', ({ batchSize }) => formatFigure(batchSize ?? Number.NaN)],
  ['instances', ({ instances }) => formatFigure(instances ?? Number.NaN)],
  ['busy', ({ busy }) => (busy === null ? '–' : `${Math.round(100 * busy)} %`)],
];

/** Rounds to hundredths. */
const shortMs = (ms: number): string => formatFigure(Math.round(ms * 100) / 100);

const withInterval = ({ value, low, high }: Interval): string =>
  `${formatFigure(value)} (${formatFigure(low)} to ${formatFigure(high)})`;
