import { formatFigure } from '../../base/format.ts';
import { describeAssignment } from '../../study/describe.ts';
import { correctionOf } from '../../study/speed/changes.ts';
import type { StudyState } from '../../study/state.ts';
import type { Factors } from '../../study/what-if/misses.ts';
import { type WhatIf, type WhatIfCell, type WhatIfConfig, whatIf } from '../../study/what-if.ts';
import { type Html, html, jsonBlock, none } from '../html.ts';

/** Nothing that is embedded may grow beyond this, whatever a study holds. */
const MOST_BYTES = 1_000_000;

/**
 * What the queueing model expects of other configs, levels and budgets, with its error, beside what was measured. Without
 * a script: a table of the best config over the levels. With one: controls, and the table and a chart of what they say.
 */
export function whatIfSection(state: StudyState): Html {
  if (!state.best) return none;
  const told = whatIf(state);
  if ('reason' in told) {
    return html`<h2>What if</h2><p class="soft">There is nothing to move here: ${told.reason}.</p>`;
  }
  const block = embedded(told, state);
  return html`<h2 id="what-if">What if</h2>
<p>What the queueing model expects, fitted to this study's ${told.from} measurements: a prediction, to be measured before it is relied on.${isCorrected(state) ? ' All of it, the measured figures too, is for the machine at its usual speed.' : ''}</p>
${block ?? none}
<div id="what-if-controls" class="controls" hidden></div>
<p id="what-if-words" class="words" aria-live="polite" hidden></p>
<div id="what-if-chart" hidden></div>
<div class="scroll"><table id="what-if-table"><caption>${describeAssignment(state.best.candidate.assignment)}</caption>
<thead><tr><th>concurrency</th><th>predicted, infer/s</th><th>predicted p${told.percentile}, ms</th><th>measured, infer/s</th><th>measured p${told.percentile}, ms</th></tr></thead>
<tbody>${rows(told, told.configs[0], state)}</tbody></table></div>
<p class="soft">${errorText(told)}</p>`;
}

const isCorrected = ({ speeds, trials }: StudyState): boolean =>
  trials.some(({ measurements }) => measurements.some((each) => correctionOf(speeds, each) !== null));

function rows(told: WhatIf, config: WhatIfConfig | undefined, state: StudyState): readonly Html[] {
  return told.levels.map((level, index) => {
    const cell = config?.cells[index] ?? null;
    const found = measuredOf(state, config?.trial ?? null).find(([at]) => at === level);
    const measured = found ? [formatFigure(found[1]), formatFigure(found[2])] : ['', ''];
    return html`<tr><td>${level}</td><td>${banded(cell?.throughput, told.misses?.throughput)}</td><td>${banded(cell?.latencyMs, told.misses?.latency)}</td>${measured.map((text) => html`<td>${text}</td>`)}</tr>\n`;
  });
}

function banded(value: number | undefined, factors: Factors | undefined): string {
  if (value === undefined) return '–';
  if (factors === undefined) return formatFigure(value);
  return `${formatFigure(value)} (${formatFigure(value * factors.low)} to ${formatFigure(value * factors.high)})`;
}

function errorText({ misses, percentile, levels, configs }: WhatIf): string {
  const extent = `${configs.length} config${configs.length === 1 ? '' : 's'} at ${levels.length} levels are foretold here: those that were tried, and those of the search space nearest to the best.`;
  if (!misses) {
    return `${extent} How far the predictions are off is not known: no measurement could be foretold from other trials.`;
  }
  const { measurements, trials, share, throughput, latency } = misses;
  const between = ({ low, high }: Factors): string => `${low.toFixed(2)} and ${high.toFixed(2)} times`;
  return (
    `The range after a prediction is how far the model was off: ${trials} trials were foretold each from all the others, and about ${Math.round(100 * share)} % of their ` +
    `${measurements} measurements lay between ${between(throughput)} the predicted throughput and between ${between(latency)} the predicted p${percentile}. ` +
    `Beyond what was tried (marked as a guess) it may be off by more. ${extent}`
  );
}

/** What the page's script reads; null where it would be too large to embed. */
function embedded(told: WhatIf, state: StudyState): Html | null {
  const { best, goal } = state;
  const chosen = best && best.chosen !== null ? best.measurements[best.chosen]?.level.value : undefined;
  const value = {
    percentile: told.percentile,
    budgetMs: goal.budget?.latencyMs ?? null,
    level: Math.max(0, told.levels.indexOf(chosen ?? told.levels[0] ?? 1)),
    knobs: told.knobs,
    levels: told.levels,
    throughputFactors: told.misses?.throughput ?? null,
    latencyFactors: told.misses?.latency ?? null,
    configs: told.configs.map(({ settings, trial, cells }) => ({ settings, trial, cells: cells.map(short) })),
    measured: Object.fromEntries(
      told.configs.flatMap(({ trial }) => (trial === null ? [] : [[trial, measuredOf(state, trial)]])),
    ),
  };
  const block = jsonBlock('what-if-predictions', value);
  return block.text.length > MOST_BYTES ? null : block;
}

/** [throughput, p50, latency, whether it is a guess], four digits each. */
const short = (cell: WhatIfCell | null): readonly number[] | null =>
  cell && [
    ...[cell.throughput, cell.p50Ms, cell.latencyMs].map((each) => Number(each.toPrecision(4))),
    cell.isGuess ? 1 : 0,
  ];

/** [level, throughput, latency] of a trial's measurements at the machine's usual speed, which is what predictions are of. */
function measuredOf({ compared }: StudyState, number: number | null): readonly (readonly [number, number, number])[] {
  const trial = compared.trials.find((each) => each.number === number);
  return (trial?.measurements ?? [])
    .filter(({ throughput }) => throughput.value > 0)
    .map(({ level, throughput, budgetLatencyMs }) => [level.value, throughput.value, budgetLatencyMs.value] as const);
}
