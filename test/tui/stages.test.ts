import { describe, expect, it } from 'vitest';
import { constraintParser } from '#study/goal/goal-text.ts';
import { builtInMetrics } from '#study/goal/metrics/registry.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { verdictOn, withNextValue } from '#tui/by-hand.ts';
import { initialInteraction } from '#tui/interaction.ts';
import { trialPanel } from '#tui/panels/trial.ts';
import { computeSize, listParameters, narrowBy } from '#tui/parameters.ts';
import { ViewFold } from '#tui/state.ts';
import { goalOf } from '../study/builders.ts';
import { jointRecords, pipeline, pipelineMeasured, tenants, tenantsMeasured } from '../support/joint-records.ts';

/** The panel of the best trial. */
function panelOf(records: readonly StudyRecord[], columns: number): readonly string[] {
  const rows = trialPanel(new ViewFold(records).view(), initialInteraction, { columns, rows: 40 });
  return rows.map((spans) =>
    spans
      .map(({ text }) => text)
      .join('')
      .trimEnd(),
  );
}

const between = (lines: readonly string[], from: RegExp, count: number): readonly string[] => {
  const start = lines.findIndex((line) => from.test(line));
  return lines.slice(start, start + count);
};

describe('the panel of a pipeline', () => {
  it('has a lane for each stage, and marks the busiest', () => {
    const lines = panelOf(jointRecords(pipeline, pipelineMeasured), 56);
    expect(between(lines, /mean ms by stage/, 4)).toEqual([
      '  mean ms by stage                   ms  busy inst batch',
      '  tokenizer ░████                     1  13 %    2     2',
      '  encoder   ░░░░░░███████████████     4  47 %◂   2     2',
      '  ░ queue  █ compute  ◂ the busiest',
    ]);
  });

  it('has room for them in half a narrow screen', () => {
    const lines = panelOf(jointRecords(pipeline, pipelineMeasured), 38);
    for (const line of lines) expect(line.length).toBeLessThanOrEqual(38);
    expect(lines.join('\n')).toMatch(/encoder +░+█+ +4 +47 %◂ +2/);
  });
});

describe('the panel of models that share a server', () => {
  it('has a row for each with its part of the level and its own budget', () => {
    const constraints = ['latency@a<=9', 'latency@b<=10'].map(constraintParser(builtInMetrics));
    const lines = panelOf(jointRecords(tenants, tenantsMeasured, goalOf(null, { constraints })), 56);
    expect(between(lines, /by model/, 3)).toEqual([
      '  by model: level, infer/s, p99',
      '  a      8      560      6 ms ≤ 9',
      '  b   40/s       40     12 ms > 10',
    ]);
    // The rows say it already.
    expect(lines.join('\n')).not.toContain('a latency');
  });
});

describe('the search space of several models', () => {
  const study = foldStudy(jointRecords(pipeline, pipelineMeasured));

  it('is shown, narrowed and set by hand with the names of the models', () => {
    expect(listParameters(study).map(({ parameter, values }) => [parameter.name, values])).toEqual([
      ['tokenizer/instances', [1, 2]],
      ['encoder/instances', [1, 2]],
    ]);
    expect(computeSize(study, {})).toBe(4);
    expect(computeSize(study, { 'encoder/instances': { pinned: 2 } })).toBe(2);
    expect(narrowBy(study, {}, { row: 1, column: 1 }, 'pin')).toMatchObject({
      narrowing: { 'encoder/instances': { pinned: 2 } },
    });
    const first = withNextValue(study, {}, 1, 2);
    expect(first).toEqual({ 'encoder/instances': 2 });
    expect(verdictOn(study, first)).toMatchObject({ legal: true });
    expect(verdictOn(study, { 'tokenizer/instances': 2, 'encoder/instances': 2 })).toMatchObject({
      note: 'same as trial 1',
    });
  });
});
