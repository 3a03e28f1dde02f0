import { formatMs, formatRate, formatRatio } from '#base/format.ts';
import { closingLines } from '#headless/closing.ts';
import { html } from '#report/html.ts';
import { verdictHtml } from '#report/page/first-screen.ts';
import { threeFigures } from '#report/page/three-figures.ts';
import { notices } from '#report/page/verdict.ts';
import { reportHtml } from '#report/report-html.ts';
import type { StudyState } from '#study/records/state.ts';
import { createHeadline } from '#study/summary/headline.ts';
import type { StandingPoint } from '#study/summary/point-schema.ts';
import { summarize } from '#study/summary/summary.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import { isToEmit } from '#study/summary/verdict.ts';
import { standingRows } from '#tui/panels/standing.ts';
import { ViewFold } from '#tui/state.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { studyView } from '#watch/view/study-view.ts';

const tones = {
  better: 'good',
  'nothing-better': 'same',
  unconfirmed: 'unsure',
  infeasible: 'bad',
  'not-measured': 'bad',
} as const;

/** Figures that nobody measured, as they would be printed. */
const NO_FIGURES = /NaN|undefined|Infinity|\bnull\b|∞/;

/** What lines, report, screen and the watch page say of one state. */
export interface Statements {
  readonly summary: Summary;
  readonly lines: readonly string[];
  readonly report: string;
  readonly screen: readonly string[];
  readonly watched: { readonly best: string; readonly original: string };
}

/** `withCharts`: of the whole report, whose charts take nearly all of the time. */
export function statementsOf(state: StudyState, events: readonly TunerEvent[], withCharts = false): Statements {
  const summary = summarize(state, 'journal.jsonl');
  const config = isToEmit(summary) ? 'run/best/m/config.pbtxt' : null;
  const files = { summary: 'run/summary.json', report: 'run/report.html', config };
  const fold = new ViewFold();
  for (const event of events) fold.add(event);
  const rows = standingRows({ ...fold.view(), study: state }, 400);
  return {
    summary,
    lines: closingLines(summary, files),
    report: textOf(withCharts ? reportHtml(state, summary, null) : figuresHtml(state, summary)),
    screen: rows.map((row) => row.map(({ text }) => text).join('')),
    watched: studyView(watchedOf(state)),
  };
}

/** The parts of the report that state the outcome. */
const figuresHtml = (state: StudyState, summary: Summary): string =>
  html`${verdictHtml(state, summary)}${notices(state, summary)}${threeFigures(state, summary)}`.text;

const watchedOf = (state: StudyState) => ({
  head: { study: 's', group: null, status: 'over' as const, startedAt: null },
  trouble: null,
  state,
  records: 1,
  progress: null,
  moments: new Map(),
  serverByTrial: new Map(),
  finished: [],
  sinceRecordSeconds: 0,
});

/** What a reader of the first screen of the page sees. */
const textOf = (page: string): string =>
  page
    .slice(0, page.indexOf('<h2>Best and original</h2>') + 1 || undefined)
    .replace(/<style>.*?<\/style>|<script.*?<\/script>|<svg.*?<\/svg>/gs, '')
    .replace(/<[^>]+>/g, '\n')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));

/** Returns every contradiction between the places, and every verdict without its figures. */
export function faultsOf({ summary, lines, report, screen, watched }: Statements): string[] {
  const { verdict, best, baseline, gain, feasible, rejected } = summary;
  const { text, tone } = createHeadline(summary);
  const faults: string[] = [];
  const demand = (holds: boolean, what: string): void => {
    if (!holds) faults.push(what);
  };
  const toRow = (name: string): string | undefined => lines.find((line) => line.startsWith(name.padEnd(11)));
  const all = [...lines, report, ...screen, watched.best, watched.original].join('\n');
  const isOriginal = best !== null && best.trial === baseline?.trial;

  demand(tone === tones[verdict], `the tone of '${text}' is ${tone}, the verdict ${verdict}`);
  demand(toRow('result') === `result     ${text}`, 'the lines have another headline');
  demand(report.includes(text), 'the report has another headline');
  demand(!NO_FIGURES.test(all.replace(summary.stopReason, '')), `something prints ${NO_FIGURES.exec(all)?.[0]}`);
  demand(feasible === !['infeasible', 'not-measured'].includes(verdict), `feasible is ${feasible}, ${verdict}`);

  if (verdict === 'better') {
    demand(gain?.ratio != null && (gain.low ?? 0) > 0 && gain.high !== null, 'better without a gain');
    demand(!baseline?.feasible || (gain?.low ?? 0) > 1, `better with ${JSON.stringify(gain)}`);
  }
  if (verdict === 'nothing-better') {
    demand(isOriginal, `nothing better, but trial ${best?.trial} is the best`);
    demand(gain?.ratio === 1 && gain.low === 1 && gain.high === 1, `nothing better, gain ${JSON.stringify(gain)}`);
    demand(!lines.some((line) => /copy |keep it|config {5}/.test(line)), 'nothing better, but something to keep');
    demand(rejected === null || lines.some((line) => line.includes(rejected.reason)), 'the lines do not say why not');
    demand(screen.join('\n').includes(rejected?.reason ?? 'as good as anything tried'), 'the screen does not say so');
    demand(watched.best.includes('as good as anything tried'), `the page says '${watched.best}'`);
  }
  if (verdict === 'infeasible' || verdict === 'not-measured')
    demand(!all.includes('as good as anything tried'), 'nothing meets the goal, but something is as good');
  if (verdict === 'unconfirmed') {
    demand(gain === null || !((gain.low ?? 0) > 0) || baseline === null, `unconfirmed with ${JSON.stringify(gain)}`);
    const ratio = (gain ?? summary.searchGain)?.ratio ?? null;
    demand(ratio === null || ratio > 1 || !baseline?.feasible, `unconfirmed at ${ratio}`);
    demand(/not confirmed|no final has confirmed|single comparison|not known|not measured/.test(text), `'${text}'`);
    demand(/confirmed|comparison|not/.test(watched.best), `the page claims '${watched.best}'`);
    demand(screen.join('\n').includes('unconfirmed') || ratio === null, `the screen claims ${screen.at(-1)}`);
  }

  faults.push(...latencyFaults({ summary, lines, report, screen, watched }));

  if (best && !isOriginal) {
    const name = `trial ${best.trial}`;
    const rate = formatRate((best.compared ?? best).throughput.value ?? Number.NaN);
    demand(toRow(feasible ? 'best' : 'nearest')?.includes(`${name}:`) === true, `the lines do not name ${name}`);
    demand(
      lines.some((line) => line.includes(rate)),
      `the lines do not give ${rate}`,
    );
    demand(screen[0]?.includes(`★ ${name}:`) === true, `the screen says ${screen[0]}`);
    demand(screen[1]?.includes(rate) === true, `the screen gives ${screen[1]}, not ${rate}`);
    demand(report.includes(`: ${name}`), `the report does not name ${name}`);
    demand(watched.best.startsWith(`${name}: ${rate}`), `the page says ${watched.best}, not ${rate}`);
    demand(feasible || watched.best.includes('misses the goal'), 'the page does not say that it misses the goal');
  }
  if (verdict === 'better' && gain?.ratio != null) {
    const ratio = formatRatio(gain.ratio);
    demand(text.includes(gain.ratio.toFixed(2)), `the headline does not give ${ratio}`);
    for (const [where, said] of [
      ['report', report],
      ['screen', screen[2]],
      ['page', watched.best],
    ] as const)
      demand(said?.includes(ratio) === true, `the ${where} does not give ${ratio}: ${where === 'report' ? '' : said}`);
  }
  return faults;
}

/**
 * Returns every latency that is not the one that decided, or that contradicts its verdict, without
 * the words that say so.
 */
function latencyFaults({ summary, lines, report, screen, watched }: Statements): string[] {
  const { best, baseline, budget } = summary;
  if (!best || !budget) return [];
  const faults: string[] = [];
  const latency = ({ budgetLatencyMs: { percentile, value } }: Pick<StandingPoint, 'budgetLatencyMs'>): string =>
    `p${percentile} ${formatMs(value ?? Number.NaN)}`;
  const isBaseline = best.trial === baseline?.trial;
  const row = (prefix: string): string => lines.find((line) => line.startsWith(prefix)) ?? '';
  const places: readonly (readonly [where: string, point: StandingPoint | null, said: string])[] = [
    [
      'lines',
      best,
      isBaseline ? row('original   ') : (lines[lines.findIndex((line) => /^(best|nearest) /.test(line)) + 1] ?? ''),
    ],
    ['lines of the original', isBaseline ? null : baseline, row('original   ')],
    ['screen', best, screen[1] ?? ''],
    ['screen of the original', isBaseline ? null : baseline, screen[2] ?? ''],
    ['report', best, report],
    ['report of the original', baseline, report],
    ['page', isBaseline ? null : best, watched.best],
    ['page of the original', baseline, watched.original],
  ];
  for (const [where, point, said] of places) {
    if (!point) continue;
    const decided = latency(point.compared ?? point);
    const measured = latency(point);
    // The report writes the budget's percentile as its metric is called.
    const isSaid = where.startsWith('report')
      ? said.includes(decided.replace(' ', ' latency '))
      : said.includes(decided);
    if (!isSaid) faults.push(`the ${where}: no '${decided}' in ${where.startsWith('report') ? 'it' : said}`);
    if (point.compared && !said.includes('normalised to the usual speed; measured'))
      faults.push(`the ${where} do not say that ${decided} is normalised`);
    const unexplained = said.replace(/measured [^;)\n]*/g, '');
    if (point.compared && measured !== decided && unexplained.includes(measured))
      faults.push(`the ${where} give the measured ${measured} beside ${decided}`);
    const isWithin = ((point.compared ?? point).budgetLatencyMs.value ?? Number.NaN) <= budget.latencyMs;
    if (isWithin !== point.feasible && !/this measurement is (within|over) the budget/.test(said) && !failedIn(point))
      faults.push(`the ${where}: ${decided}, feasible is ${point.feasible}: ${where.startsWith('report') ? '' : said}`);
  }
  return faults;
}

const failedIn = ({ errorRate }: StandingPoint): boolean => (errorRate ?? 0) > 0.01;
