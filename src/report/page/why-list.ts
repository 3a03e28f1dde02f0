import { capital } from '#base/format.ts';
import { computeBarScale } from '#study/analysis/explain/reasons.ts';
import { describeBar } from '#study/analysis/explain/time-bar.ts';
import type { BarKind, Explanation, Reason, ReasonBar } from '#study/summary/explanation-schema.ts';
import { type Html, html, none } from '../html.ts';

const titles: Readonly<Record<Reason['about'], string>> = {
  before: 'Bottleneck before',
  changed: 'What changed it',
  now: 'Bottleneck now',
  next: 'What to try next',
};

/** The colours of the same parts in the charts. */
const colours: Readonly<Record<Exclude<BarKind, 'stage'>, string>> = {
  queue: '#e08a1e',
  compute: '#2f7ed8',
  outside: '#999fa8',
  'first-token': '#e08a1e',
  'other-tokens': '#2f7ed8',
  whole: '#999fa8',
  without: '#999fa8',
  gained: '#2ca05a',
};
const stageColours = ['#2f7ed8', '#e08a1e', '#2ca05a', '#8a56c2', '#cc4458', '#2a9d94'];

/** Returns a short list, with bars, of why the best is the best, followed by the whole text. */
export function whyList(explanation: Explanation | null): Html {
  if (!explanation) return none;
  const { reasons, text } = explanation;
  return html`<h2 id="why">Why</h2>
<dl class="why">${reasons.map(
    (reason) => html`<dt>${titles[reason.about]}</dt><dd>${formatWords(reason)}${barHtml(reason, reasons)}</dd>`,
  )}</dl>
<details class="full"><summary>In full, with all figures</summary><p>${text}</p></details>`;
}

/** Keeps the case of text that begins with a parameter's name. */
const formatWords = ({ about, words }: Reason): string => (about === 'changed' ? words : capital(words));

function barHtml(reason: Reason, all: readonly Reason[]): Html {
  const { bar } = reason;
  if (!bar) return none;
  const whole = computeBarScale(reason, all);
  return html`<div class="measure"><div class="split" aria-hidden="true">${listParts(bar, whole)}</div><span class="soft">${describeBar(bar)}</span></div>`;
}

function listParts({ parts }: ReasonBar, whole: number): readonly Html[] {
  let stage = 0;
  return parts.map(({ kind, value, name }) => {
    const colour = kind === 'stage' ? stageColours[stage++ % stageColours.length] : colours[kind];
    const width = whole > 0 ? (100 * value) / whole : 0;
    return html`<span style="width:${width.toFixed(2)}%;background:${colour ?? ''}" title="${name}"></span>`;
  });
}
