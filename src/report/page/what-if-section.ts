import { formatFigure } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { type WhatIf, type WhatIfCell, type WhatIfConfig, whatIf } from '#study/analysis/what-if.ts';
import type { Bounds } from '#study/analysis/what-if-misses.ts';
import { lineIn, representative } from '#study/final/final.ts';
import type { StudyState } from '#study/records/state.ts';
import { findCorrection } from '#study/speed/changes.ts';
import { describeAssignment } from '#study/summary/describe.ts';
import { rateUnitOfStudy } from '#study/summary/rate-unit.ts';
import { type Html, html, jsonBlock, none } from '../html.ts';

/** The maximum size of embedded data, whatever a study holds. */
const MAX_BYTES = 1_000_000;

/**
 * Returns the queueing model's predictions for other configs, levels and budgets, with their error,
 * next to the measurements. Without a script, a table of the best config over the levels. With one,
 * controls, and a table and a chart of their result.
 */
export function whatIfSection(state: StudyState): Html {
  if (!state.best) return none;
  const outlook = whatIf(state);
  if ('reason' in outlook) {
    return html`<h2>What if</h2><p class="soft">Not available: ${outlook.reason}.</p>`;
  }
  const block = embedded(outlook, state);
  const unit = rateUnitOfStudy(state);
  return html`<h2 id="what-if">What if</h2>
<p>Predictions of the queueing model, fitted to this study's ${outlook.from} measurements. Measure before you rely on them.${isCorrected(state) ? ' All figures, measured ones included, are normalised to the usual speed of the machine.' : ''}</p>
${block ?? none}
<div id="what-if-controls" class="controls" hidden></div>
<p id="what-if-words" class="words" aria-live="polite" hidden></p>
<figure id="what-if-figure" hidden><h3></h3><div id="what-if-chart"></div></figure>
<div class="scroll"><table id="what-if-table"><caption>${describeAssignment(state.best.candidate.assignment)}</caption>
<thead><tr><th>${nameOfLevels(outlook, state)}</th><th>predicted, ${unit}</th><th>predicted p${outlook.percentile}, ms</th><th>measured, ${unit}</th><th>measured p${outlook.percentile}, ms</th></tr></thead>
<tbody>${rows(outlook, outlook.configs[0], state)}</tbody></table></div>
<p class="soft">${errorText(outlook)}</p>`;
}

/**
 * Returns the name of the levels. If a study varies concurrency and batch, the batch of the best is
 * fixed.
 */
function nameOfLevels({ varies }: WhatIf, state: StudyState): string {
  if (varies === 'batch') return 'client batch';
  const batch = state.best && representative(state, state.best)?.measurement.level.batch;
  return batch ? `concurrency of batches of ${batch}` : 'concurrency';
}

const isCorrected = ({ speeds, trials, finals }: StudyState): boolean =>
  [...trials.flatMap(({ measurements }) => measurements), ...finals.map(({ measurement }) => measurement)].some(
    (each) => findCorrection(speeds, each) !== null,
  );

function rows(whatIf: WhatIf, config: WhatIfConfig | undefined, state: StudyState): readonly Html[] {
  return whatIf.levels.map((level, index) => {
    const cell = config?.cells[index] ?? null;
    const foundMeasured = listMeasured(state, config?.trial ?? null).find(([at]) => at === level);
    const measured = foundMeasured ? [formatFigure(foundMeasured[1]), formatFigure(foundMeasured[2])] : ['', ''];
    return html`<tr><td>${level}</td><td>${banded(cell?.throughput, cell?.throughputRange)}</td><td>${banded(cell?.latencyMs, cell?.latencyRange)}</td>${measured.map((text) => html`<td>${text}</td>`)}</tr>\n`;
  });
}

function banded(value: number | undefined, range: Bounds | null | undefined): string {
  if (value === undefined) return '–';
  return range
    ? `${formatFigure(value)} (${formatFigure(range.low)} to ${formatFigure(range.high)})`
    : formatFigure(value);
}

function errorText({ misses, percentile, levels, configs }: WhatIf): string {
  const extent = `${configs.length} config${configs.length === 1 ? '' : 's'} at ${levels.length} levels are predicted here: those that were tried, and those in the search space closest to the best.`;
  if (!misses) {
    return `${extent} The prediction error is unknown: no measurement could be predicted from other trials.`;
  }
  const { measurements, trials, share, throughput, latency } = misses;
  const between = ({ low, high }: Bounds): string => `${low.toFixed(2)} and ${high.toFixed(2)} times`;
  return (
    `Prediction error: each of ${trials} trials was predicted from all the others. About ${Math.round(100 * share)} % of their ` +
    `${measurements} measurements were between ${between(throughput.factors)} the predicted throughput and between ${between(latency.factors)} the predicted p${percentile}. ` +
    `The range after a prediction follows from that, and is wider where the model is less certain; beyond the measured levels (marked as a guess) the error may be larger. ${extent}`
  );
}

/** Returns the data for the page's script; null if it is too large to embed. */
function embedded(whatIf: WhatIf, state: StudyState): Html | null {
  const { best, goal } = state;
  const stands = best && representative(state, best)?.measurement.level;
  const chosen = best && stands && (lineIn(state, best.number)?.toPosition(stands) ?? stands.value);
  const value = {
    percentile: whatIf.percentile,
    unit: rateUnitOfStudy(state),
    budgetMs: goal.budget?.latencyMs ?? null,
    level: Math.max(0, whatIf.levels.indexOf(chosen ?? whatIf.levels[0] ?? 1)),
    parameters: whatIf.parameters,
    nameOfLevels: nameOfLevels(whatIf, state),
    ...(state.started.topology && { models: state.started.topology.stages }),
    levels: whatIf.levels,
    configs: whatIf.configs.map(({ settings, trial, cells }) => ({ settings, trial, cells: cells.map(short) })),
    measured: Object.fromEntries(
      whatIf.configs.flatMap(({ trial }) => (trial === null ? [] : [[trial, listMeasured(state, trial)]])),
    ),
  };
  const block = jsonBlock('what-if-predictions', value);
  return block.text.length > MAX_BYTES ? null : block;
}

/**
 * [throughput, p50, latency, whether it is a guess, and the ranges of throughput and latency if
 * known], four digits each.
 */
const short = (cell: WhatIfCell | null): readonly number[] | null =>
  cell && [
    ...[cell.throughput, cell.p50Ms, cell.latencyMs].map(fourDigits),
    cell.isGuess ? 1 : 0,
    ...[cell.throughputRange, cell.latencyRange].flatMap((range) =>
      range ? [range.low, range.high].map(fourDigits) : [],
    ),
  ];

const fourDigits = (value: number): number => Number(value.toPrecision(4));

/**
 * Returns [level, throughput, latency] of a trial's config at each measured level of the best's
 * line, from whichever trial, at the machine's usual speed, as predictions are. With several
 * measurements at one level, the one that represents the trial counts, else the latest; those of
 * the final come last.
 */
function listMeasured(state: StudyState, number: number | null): readonly (readonly [number, number, number])[] {
  const { compared, speeds, trials, best } = state;
  const trial = trials.find((each) => each.number === number);
  if (!trial || !best) return [];
  const keptTrials = compared.trials.filter(({ candidate }) => candidate.fingerprint === trial.candidate.fingerprint);
  const numbers = new Set(keptTrials.map((each) => each.number));
  const stands = representative(state, trial)?.measurement;
  const all = [
    ...keptTrials.flatMap(({ measurements }) => measurements),
    ...compared.finals.filter((final) => numbers.has(final.trial)).map(({ measurement }) => measurement),
    ...(stands ? [speeds.comparable(stands)] : []),
  ].filter(({ throughput, client }) => throughput.value > 0 && !client.bound);
  const line = lineIn(state, best.number);
  const toPosition = ({ level }: Measurement): number | null => (line ? line.toPosition(level) : level.value);
  const byLevel = new Map(all.map((measurement) => [toPosition(measurement), measurement]));
  return [...byLevel].flatMap(([position, { throughput, budgetLatencyMs }]) =>
    position === null ? [] : [[position, throughput.value, budgetLatencyMs.value] as const],
  );
}
