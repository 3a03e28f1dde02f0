import { describe, expect, it } from 'vitest';
import { closingLines } from '#headless/closing.ts';
import { seriesLines } from '#headless/series-lines.ts';
import { comparison } from '#report/page/comparison.ts';
import { threeFigures } from '#report/page/three-figures.ts';
import type { StudyState } from '#study/records/state.ts';
import { decidingFigures, describeBasis, judgedPoint } from '#study/summary/deciding-figures.ts';
import { createHeadline } from '#study/summary/headline.ts';
import type { StandingPoint } from '#study/summary/point-schema.ts';
import { toEntry } from '#study/summary/series-summary.ts';
import { summarize } from '#study/summary/summary.ts';
import { standingRows } from '#tui/panels/standing.ts';
import { ViewFold } from '#tui/state.ts';
import { describeStand } from '#watch/view/trial-rows.ts';
import { goalOf } from './builders.ts';
import { served, studyOf } from './explained.ts';
import { tokensOf } from './token-figures.ts';

const budget = { percentile: 99, latencyMs: 80 };
const measured = served({ level: 8, throughput: 812, queueMs: 40, computeMs: 30, outsideMs: 1, p99Ms: 131 });
const other = served({ level: 8, throughput: 400, queueMs: 40, computeMs: 30, outsideMs: 1, p99Ms: 70 });

/**
 * A study whose best was measured while the machine had little more than half of its usual speed.
 */
function slowedStudy(feasible = true): StudyState {
  const state = studyOf(
    [
      { assignment: {}, measurements: [other] },
      { assignment: { instances: 2 }, measurements: [measured], feasible },
    ],
    { goal: goalOf(80) },
  );
  const usual = served({ level: 8, throughput: 1430, queueMs: 23, computeMs: 17, outsideMs: 1, p99Ms: 74.4 });
  const stood = state.trials[1]?.measurements[0];
  const comparable: StudyState['speeds']['comparable'] = (each) => (each === stood ? usual : each);
  return { ...state, best: state.trials[1] ?? null, speeds: { ...state.speeds, comparable } };
}

const MEASURED = '(normalised to the usual speed; measured 812 infer/s, p99 131 ms)';

describe('the figures beside a verdict', () => {
  const state = slowedStudy();
  const summary = summarize(state, 'journal.jsonl');

  it('are those that decided, with what was measured, in every place', () => {
    expect(summary).toMatchObject({
      feasible: true,
      best: { budgetLatencyMs: { value: 131 }, compared: { budgetLatencyMs: { value: 74.4 } } },
    });
    const lines = closingLines(summary, {});
    expect(lines.find((line) => line.includes('p99 74.4 ms'))).toMatch(/^ +1,430 infer\/s .*, p99 74\.4 ms, p50 .*/);
    expect(lines.filter((line) => line.includes(MEASURED))).toHaveLength(1);
    expect(describeStand(state, state.trials[1] as never)).toBe(
      `1,430 infer/s at p99 74.4 ms, concurrency 8 ${MEASURED}`,
    );
    const rows = standingRows({ ...new ViewFold().view(), study: state }, 200).map((row) =>
      row.map(({ text }) => text).join(''),
    );
    expect(rows[1]).toContain(`1,430 infer/s ±`);
    expect(rows[1]).toContain(`p99 74.4 ms at concurrency 8 ${MEASURED}`);
    const cards = threeFigures(state, summary).text;
    expect(cards).toContain('p99 latency 74.4 ms');
    expect(cards).toContain(MEASURED.slice(1, -1));
    const table = comparison(state, summary).text;
    expect(table).toMatch(/<th scope="row">p99 latency, ms<\/th><td>74\.4 /);
    expect(table).toMatch(/<th scope="row">measured, p99, ms<\/th><td>131 /);
  });

  it('are those of a series, too', () => {
    const entry = toEntry({ model: 'm', directory: 'm', config: 'm/c' }, summary, { exitCode: 0, error: null });
    expect(entry.best).toMatchObject({
      throughput: { value: 1430 },
      budgetLatencyMs: { value: 74.4 },
      measured: { throughput: { value: 812 }, budgetLatencyMs: { value: 131 } },
    });
    expect(seriesLines({ schemaVersion: 1, models: [entry], ranking: [] }, 'd').join('\n')).toContain(
      `1,430 infer/s at concurrency 8, p99 74.4 ms ${MEASURED}`,
    );
  });

  it('make the quotient of the search, which stands beside them', () => {
    expect(summary.searchGain?.ratio).toBeCloseTo(1430 / 400);
  });

  it('stand in the headline where nothing meets the goal, or nothing is better', () => {
    const missed = summarize(slowedStudy(false), 'j');
    expect(createHeadline(missed).text).toContain(`gives 1,430 infer/s at p99 74.4 ms ${MEASURED.slice(0, -1)}`);
  });

  it('are the tokens of a language model', () => {
    const compared = { ...decidingFigures(summary.best as StandingPoint), tokens: tokensOf(10, 20) };
    const point = { ...(summary.best as StandingPoint), tokens: tokensOf(4, 33), compared };
    const text = createHeadline({ ...summary, verdict: 'nothing-better', best: { ...point, predicted: null } }).text;
    expect(text).toMatch(
      /500 output tokens\/s at p99 TTFT .* \(normalised to the usual speed; measured 121 output tokens\/s, p99 TTFT 80 ms, ITL 66 ms\)/,
    );
  });

  it('say nothing of themselves where they were measured and agree with the verdict', () => {
    const plain = summary.baseline as StandingPoint;
    expect(plain.compared).toBeNull();
    expect(describeBasis(judgedPoint(plain), budget)).toBe('');
  });
});

describe('a verdict by the probability of all measurements', () => {
  const figures = { throughput: { value: 900 }, budgetLatencyMs: { percentile: 99, value: 82 } };
  const basis = (feasible: boolean, value: number, chance: number | null) => {
    const own = { ...figures, budgetLatencyMs: { percentile: 99, value } };
    return describeBasis({ measurement: own, compared: own, feasible, chance }, budget);
  };

  it('explains a latency that says otherwise', () => {
    expect(basis(true, 82, 0.93)).toBe(
      ' (this measurement is over the budget; by all of them it is kept with 93 % probability)',
    );
    expect(basis(false, 78, 0.32)).toBe(
      ' (this measurement is within the budget; by all of them it is kept with 32 % probability)',
    );
    expect(basis(true, 78, 0.93)).toBe('');
    expect(basis(false, 82, 0.32)).toBe('');
    // Another limit of the goal is missed.
    expect(basis(false, 78, 0.95)).toBe('');
    expect(basis(true, 82, null)).toBe('');
  });
});
