import { formatFigure, formatRatio, plainLine } from '#base/format.ts';
import {
  computeImportance,
  type Importance,
  isPredictive,
  type ParameterImportance,
  tellingParameters,
} from '#study/analysis/importance.ts';
import type { StudyState } from '#study/records/state.ts';
import { type Html, html, none } from '../html.ts';
import { type TableCell, table } from './table.ts';

/** The longest text of a value in the table: some values are whole messages of the config. */
const LONGEST_VALUE = 60;

/**
 * Returns how much each parameter changed the result over all trials, and how reliable that is: by
 * a fit that predicts at least half of the variance, else by direct comparisons alone. Nothing
 * where there are none of these either. Why the best is the best is said by the explanation, so the
 * title names no winner where the fit does not.
 */
export function importanceSection(state: StudyState): Html {
  const importance = computeImportance(state);
  const parameters = importance ? tellingParameters(importance) : [];
  if (!importance || parameters.length === 0) return none;
  const isFit = isPredictive(importance.predictedShare);
  const most = Math.max(...parameters.map(({ factor }) => Math.log(factor)), Number.MIN_VALUE);
  return html`<h2>What mattered</h2>
<h3>${isFit ? formatTitle(importance) : 'Direct comparisons: trials that differ in one parameter only'}</h3>
${table({
  className: 'importance',
  heads: ['parameter', ...(isFit ? ['moved the result by', 'values tried, the best first'] : []), 'direct comparisons'],
  rows: parameters.map((parameter) => (isFit ? row(parameter, most) : pairRow(parameter))),
})}
<p class="soft">${isFit ? methodText(importance, formatAim(state)) : pairsText(importance, formatAim(state))}</p>`;
}

/** Returns the message of the table: the parameter with the largest effect over all trials. */
function formatTitle({ parameters }: Importance): string {
  const [first] = parameters.filter(({ verdict }) => verdict !== 'not varied' && verdict !== 'within noise');
  if (!first) return 'No parameter changed the result by more than the noise of two measurements';
  const [best, ...others] = first.values;
  const worst = others.at(-1);
  const values =
    best && worst
      ? `: ${plainLine(best.value, LONGEST_VALUE)} instead of ${plainLine(worst.value, LONGEST_VALUE)}`
      : '';
  return `${first.name} had the largest effect over all trials, a factor of ${first.factor.toFixed(2)}${values}`;
}

function row(parameter: ParameterImportance, most: number): readonly TableCell[] {
  const { name, factor, verdict, values, pairs } = parameter;
  const width = Math.round((100 * Math.log(factor)) / most);
  const moved =
    verdict === 'not varied'
      ? html`<span class="soft">tried with one value only</span>`
      : html`<span class="bar" style="width:${Math.max(1, width)}px"></span> ${formatRatio(factor)}${verdict === 'within noise' ? html` <span class="soft">no effect seen</span>` : none}`;
  const list = values.map(({ value, factor: worse, trials }, index) => {
    const short = plainLine(value, LONGEST_VALUE);
    return index === 0 ? `${short} (${trials})` : `${short} ÷ ${formatFigure(worse)} (${trials})`;
  });
  return [name, moved, list.join(', '), pairWords(pairs)];
}

const pairRow = ({ name, pairs }: ParameterImportance): readonly TableCell[] => [name, pairWords(pairs)];

const pairWords = (pairs: ParameterImportance['pairs']): string =>
  pairs ? `${pairs.count}, up to ${formatRatio(pairs.largest)}` : 'none';

const pairsText = ({ trials, noiseFactor }: Importance, aim: string): string =>
  `The ${aim} of two trials that differ in nothing else, each at its own best level. ` +
  `Measurements of one config differ by up to ${formatRatio(noiseFactor)}, so smaller factors mean nothing. A fit of all ${trials} trials predicts less than half of the variance and is left out: the parameters interact, or there are too few trials.`;

function methodText(importance: Importance, aim: string): string {
  const { trials, infeasible, noiseFactor, predictedShare, isScarce } = importance;
  const words = ` Tested on trials that were left out in turn, the product explains ${percent(predictedShare ?? 0)} of the variance.`;
  const scarce = isScarce ? ` There are few trials for this many values: take the factors as hints.` : '';
  const left =
    infeasible > 0
      ? ` ${infeasible} measured trial${infeasible === 1 ? '' : 's'} that missed the goal ${infeasible === 1 ? 'is' : 'are'} left out.`
      : '';
  return (
    `The figures explain the ${aim} of the ${trials} trials that met the goal, each at its own best level, as a product of one factor per value (ridge regression on its logarithm). ` +
    'The second column divides the best value by the worst; the number of trials with a value is in parentheses. ' +
    `A direct comparison is a pair of trials that differ in nothing else, without a model. Measurements of one config differ by up to ${formatRatio(noiseFactor)}, so smaller factors mean nothing.` +
    `${words}${scarce}${left} The search seldom tries poor values, so this says what mattered here, not what matters everywhere.`
  );
}

const formatAim = ({ goal }: StudyState): string =>
  goal.objectives.length === 1 ? (goal.objectives[0]?.metric ?? 'throughput') : 'the weighted objective';

const percent = (share: number): string => `${Math.max(0, Math.round(100 * share))} %`;
