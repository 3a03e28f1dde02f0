import { formatFigure, formatRatio, plainLine } from '../../base/format.ts';
import { type Importance, importanceOf, type KnobImportance } from '../../study/importance.ts';
import type { StudyState } from '../../study/state.ts';
import { type Html, html, none } from '../html.ts';

/** Of a value in the table: some are whole messages of the config. */
const LONGEST_VALUE = 60;

/** How much each parameter moved the result, which did not, and how far that can be trusted. */
export function importanceSection(state: StudyState): Html {
  const importance = importanceOf(state);
  if (!importance) return none;
  const most = Math.max(...importance.knobs.map(({ factor }) => Math.log(factor)), Number.MIN_VALUE);
  return html`<h2>What mattered</h2>
<div class="scroll"><table class="importance"><thead><tr><th>parameter</th><th>moved the result by</th><th>values tried, the best first</th><th>direct comparisons</th></tr></thead><tbody>
${importance.knobs.map((knob) => row(knob, most))}
</tbody></table></div>
<p class="soft">${methodText(importance, aimOf(state))}</p>`;
}

function row(knob: KnobImportance, most: number): Html {
  const { name, factor, verdict, values, pairs } = knob;
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
  const { trials, infeasible, noiseFactor, foretold, isScarce } = importance;
  const told =
    foretold === null
      ? ''
      : foretold < 0.5
        ? ` Of trials left out in turn it foretells little (${percent(foretold)} of the variance): the parameters work together, or the trials are too few, so trust the direct comparisons only.`
        : ` Of trials left out in turn it foretells ${percent(foretold)} of the variance.`;
  const scarce = isScarce ? ` There are few trials for so many values: take these factors as hints.` : '';
  const left =
    infeasible > 0
      ? ` ${infeasible} measured trial${infeasible === 1 ? '' : 's'} that missed the goal ${infeasible === 1 ? 'is' : 'are'} not in it.`
      : '';
  return (
    `Of ${trials} trials that met the goal, each at its own best level: ${aim} as a product of one factor per value (ridge regression on its logarithm); ` +
    'the figure in the second column is the best value over the worst. In parentheses: trials with that value. ' +
    `A direct comparison is a pair of trials that differ in nothing else, with no model in between. Less than ${formatRatio(noiseFactor)} is within what measurements of one config differ by.` +
    `${told}${scarce}${left} A search that goes where it is promising tries poor values seldom, so this says what mattered here, not what matters everywhere.`
  );
}

const aimOf = ({ goal }: StudyState): string =>
  goal.objectives.length === 1 ? (goal.objectives[0]?.metric ?? 'throughput') : 'the weighted objective';

const percent = (share: number): string => `${Math.max(0, Math.round(100 * share))} %`;
