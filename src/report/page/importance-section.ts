import { formatFigure, formatRatio, plainLine } from '../../base/format.ts';
import { type Importance, importanceOf, type ParameterImportance } from '../../study/analysis/importance/importance.ts';
import type { StudyState } from '../../study/records/state.ts';
import { type Html, html, none } from '../html.ts';

/** The longest text of a value in the table: some values are whole messages of the config. */
const LONGEST_VALUE = 60;

/** Returns how much each parameter changed the result, which ones did not, and how reliable that is. */
export function importanceSection(state: StudyState): Html {
  const importance = importanceOf(state);
  if (!importance) return none;
  const most = Math.max(...importance.parameters.map(({ factor }) => Math.log(factor)), Number.MIN_VALUE);
  return html`<h2>What mattered</h2>
<h3>${titleOf(importance)}</h3>
<div class="scroll"><table class="importance"><thead><tr><th>parameter</th><th>moved the result by</th><th>values tried, the best first</th><th>direct comparisons</th></tr></thead><tbody>
${importance.parameters.map((parameter) => row(parameter, most))}
</tbody></table></div>
<p class="soft">${methodText(importance, aimOf(state))}</p>`;
}

/** Returns the message of the table: the parameter with the largest effect. */
function titleOf({ parameters }: Importance): string {
  const [first] = parameters.filter(({ verdict }) => verdict !== 'not varied' && verdict !== 'within noise');
  if (!first) return 'No parameter changed the result by more than two measurements of one config differ';
  const [best, ...others] = first.values;
  const worst = others.at(-1);
  const values =
    best && worst
      ? `: ${plainLine(best.value, LONGEST_VALUE)} instead of ${plainLine(worst.value, LONGEST_VALUE)}`
      : '';
  return `${first.name} mattered most, by a factor of ${first.factor.toFixed(2)}${values}`;
}

function row(parameter: ParameterImportance, most: number): Html {
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
  const direct = pairs ? `${pairs.count}, up to ${formatRatio(pairs.largest)}` : 'none';
  return html`<tr><th scope="row">${name}</th><td>${moved}</td><td>${list.join(', ')}</td><td>${direct}</td></tr>\n`;
}

function methodText(importance: Importance, aim: string): string {
  const { trials, infeasible, noiseFactor, predictedShare, isScarce } = importance;
  const told =
    predictedShare === null
      ? ''
      : predictedShare < 0.5
        ? ` Tested on trials that were left out in turn, the product explains little (${percent(predictedShare)} of the variance): the parameters act together, or the trials are too few. Trust the direct comparisons only.`
        : ` Tested on trials that were left out in turn, the product explains ${percent(predictedShare)} of the variance.`;
  const scarce = isScarce ? ` There are few trials for this many values: take the factors as hints.` : '';
  const left =
    infeasible > 0
      ? ` ${infeasible} measured trial${infeasible === 1 ? '' : 's'} that missed the goal ${infeasible === 1 ? 'is' : 'are'} left out.`
      : '';
  return (
    `The figures explain the ${aim} of the ${trials} trials that met the goal, each at its own best level, as a product of one factor per value (ridge regression on its logarithm). ` +
    'The second column divides the best value by the worst; the number of trials with a value is in parentheses. ' +
    `A direct comparison is a pair of trials that differ in nothing else, without a model. Measurements of one config differ by up to ${formatRatio(noiseFactor)}, so smaller factors mean nothing.` +
    `${told}${scarce}${left} The search seldom tries poor values, so this says what mattered here, not what matters everywhere.`
  );
}

const aimOf = ({ goal }: StudyState): string =>
  goal.objectives.length === 1 ? (goal.objectives[0]?.metric ?? 'throughput') : 'the weighted objective';

const percent = (share: number): string => `${Math.max(0, Math.round(100 * share))} %`;
