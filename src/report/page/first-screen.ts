import { toMetrics } from '#study/goal/metrics/registry.ts';
import type { StudyState } from '#study/records/state.ts';
import { correctMeasurement } from '#study/speed/changes.ts';
import { createHeadline } from '#study/summary/headline.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import { narrowPaper, type Paper, widePaper } from '../charts/svg.ts';
import { type Html, html, none } from '../html.ts';
import { configDiff } from './config-diff.ts';
import { figure } from './figure.ts';
import { drawPicture } from './first-picture.ts';
import { pagePoints } from './points.ts';
import { standingReadings } from './repeated-readings.ts';
import { threeFigures } from './three-figures.ts';
import { pictureTitle } from './titles.ts';
import { whyList } from './why-list.ts';

/**
 * Returns explanations of what may confuse a reader: figures at the machine's usual speed, and
 * other readings of the best and the original.
 */
function renderCaption(state: StudyState): Html {
  const isCorrected = pagePoints(state).some(
    ({ measurement }) => correctMeasurement(state.speeds, measurement) !== null,
  );
  const speed =
    "Measurements are normalised to the machine's usual speed, as they are compared. The charts below show the measured values.";
  const readings = [...(isCorrected ? [speed] : []), ...standingReadings(state)];
  return readings.length === 0 ? none : html`${readings.join(' ')}`;
}

/** Returns the verdict in a sentence. */
export function verdictHtml({ goal }: StudyState, summary: Summary): Html {
  const { text, tone } = createHeadline(summary, toMetrics(goal));
  return html`<p class="verdict ${tone}">${text}</p>`;
}

/** Half the width of a page, because the config is next to the chart. */
const halfPaper: Paper = { ...widePaper, width: 620, height: 340 };

/**
 * Returns what a reader needs first: the verdict, the objective before and after, the front with
 * the limit, the changes, and the reasons.
 */
export function firstScreen(state: StudyState, summary: Summary): Html {
  const picture = drawPicture(state);
  return html`${verdictHtml(state, summary)}
${threeFigures(state, summary)}
<div class="first">
${picture ? figure(picture.chart, 'picture', pictureTitle(state, picture), renderCaption(state), [halfPaper, narrowPaper]) : none}
${configDiff(state)}
</div>
${whyList(summary.explanation)}`;
}
