import { formatFigure } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { TokenFigures } from '#profiler/token-figures.ts';
import type { Interval } from '#stats/interval.ts';
import { representative } from '#study/final/final.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeLevel } from '#study/summary/describe.ts';
import type { Trial } from '#study/types.ts';
import type { Chart } from '../charts/svg.ts';
import { type Html, html, none } from '../html.ts';
import type { ChartName } from './charts.ts';
import { figure } from './figure.ts';

type ShownTokens = readonly [name: string, measurement: Measurement, tokens: TokenFigures];

const counters: Readonly<Record<TokenFigures['countedBy'], string>> = {
  usage: "The server's own usage figures count the tokens.",
  tokenizer: 'A tokenizer counts the tokens, because the server does not report them.',
  pieces: 'The tokens were not counted: each piece of a stream counts as one token.',
};

/**
 * Returns the times and rates of a language model's tokens, in the best, in the original and over
 * the load; empty for other models.
 */
export function tokensSection(
  state: StudyState,
  charts: ReadonlyMap<ChartName, Chart>,
  title: (name: ChartName) => string,
): Html {
  const shown = [
    ...describeTrial(state, state.best, 'best'),
    ...(state.best === state.baseline ? [] : describeTrial(state, state.baseline, 'original')),
  ];
  const [first] = shown;
  if (!first) return none;
  const [, measurement, tokens] = first;
  const percentile = `p${measurement.budgetLatencyMs.percentile}`;
  return html`<h2>Tokens</h2>
${table(shown, percentile)}
<p class="soft">TTFT: from the sending to the first piece of the reply with output in it, reasoning included${measurement.openLoop ? '; its percentile here is from the time that a request was due' : ''}. ITL: each piece after the one before. TPOT: (end-to-end − TTFT) / (output tokens − 1), one figure a request. Per user: the mean of 1 / TPOT. Ranges are 95 % intervals. ${counters[tokens.countedBy]}</p>
${figure(charts.get('tokens-front'), 'tokens-front', title('tokens-front'), html`Output per user against output of the server: the line joins measurements that nothing beats in both.`)}
${figure(charts.get('ttft-vs-load'), 'ttft-vs-load', title('ttft-vs-load'), html`Time to first token over load.`)}
${figure(charts.get('itl-vs-load'), 'itl-vs-load', title('itl-vs-load'), html`Inter-token latency over load.`)}
${figure(charts.get('tpot-vs-load'), 'tpot-vs-load', title('tpot-vs-load'), html`Time per output token over load.`)}`;
}

function describeTrial(state: StudyState, trial: Trial | null, name: string): readonly ShownTokens[] {
  const measurement = trial && representative(state, trial)?.measurement;
  return measurement?.tokens ? [[name, measurement, measurement.tokens]] : [];
}

type Row = readonly [head: string, of: (tokens: TokenFigures, measurement: Measurement) => string | null];

const listRows = (percentile: string): readonly Row[] => [
  ['load', (_, { level }) => describeLevel(level)],
  [`TTFT ${percentile}, ms`, ({ budget }) => withInterval(budget.ttftMs)],
  ['TTFT median, ms', ({ ttftMs }) => formatFigure(ttftMs.p50)],
  [`ITL ${percentile}, ms`, ({ budget }) => withInterval(budget.itlMs)],
  ['ITL median, ms', ({ itlMs }) => formatFigure(itlMs.p50)],
  [`TPOT ${percentile}, ms`, ({ budget }) => withInterval(budget.tpotMs)],
  [`end-to-end ${percentile}, ms`, (_, { budgetLatencyMs }) => withInterval(budgetLatencyMs)],
  ['output tokens/s', ({ outputTokensPerSecond }) => withInterval(outputTokensPerSecond)],
  ['input and output tokens/s', ({ totalTokensPerSecond }) => withInterval(totalTokensPerSecond)],
  ['output tokens/s per user', (tokens) => formatFigure(tokens.outputTokensPerSecondPerUser)],
  ['goodput, requests/s', ({ goodput }) => (goodput ? withInterval(goodput) : null)],
  [
    'mean tokens in, out',
    (tokens) => `${formatFigure(tokens.inputTokens.mean)}, ${formatFigure(tokens.outputTokens.mean)}`,
  ],
  ['input from the prefix cache', (tokens) => percentText(tokens.cachedShare)],
  ['replies cut off', ({ cutOff }) => (cutOff > 0 ? String(cutOff) : null)],
];

const percentText = (share: number | undefined): string | null =>
  share === undefined ? null : `${formatFigure(100 * share)} %`;

/** Leaves out rows without any measured figure. */
function table(shown: readonly ShownTokens[], percentile: string): Html {
  const rows = listRows(percentile).flatMap(([head, of]) => {
    const cells = shown.map(([, measurement, tokens]) => of(tokens, measurement));
    if (cells.every((cell) => cell === null)) return [];
    return [html`<tr><th scope="row">${head}</th>${cells.map((cell) => html`<td>${cell ?? '–'}</td>`)}</tr>\n`];
  });
  return html`<div class="scroll"><table id="tokens" class="pair"><thead><tr><th></th>${shown.map(([name]) => html`<th>${name}</th>`)}</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

const withInterval = ({ value, low, high }: Interval): string =>
  `${formatFigure(value)} (${formatFigure(low)} to ${formatFigure(high)})`;
