import { describe, expect, it } from 'vitest';
import type { StudyRecord } from '#study/records/records.ts';
import type { FailureKind } from '#study/types.ts';
import { initialInteraction } from '#tui/interaction.ts';
import { standingRows } from '#tui/panels/standing.ts';
import { trialPanel } from '#tui/panels/trial.ts';
import { trialsPanel } from '#tui/panels/trials.ts';
import type { Row } from '#tui/rows.ts';
import { ViewFold } from '#tui/state.ts';
import { configOf, goalOf, measured, originalConfig, studyStarted, toCandidate } from '../study/builders.ts';

const at = '2026-01-01T00:00:01.000Z';
const textOf = (rows: readonly Row[]): string =>
  rows
    .map((spans) =>
      spans
        .map(({ text }) => text)
        .join('')
        .trimEnd(),
    )
    .join('\n');

const trial = (
  number: number,
  config: typeof originalConfig,
  latencyMs: number,
  failure?: FailureKind,
): StudyRecord[] => [
  {
    type: 'trial-started',
    at,
    trial: number,
    role: number === 0 ? 'baseline' : 'search',
    candidate: toCandidate(config),
  },
  ...(failure
    ? []
    : [{ type: 'trial-measured', at, trial: number, measurement: measured(8, 200, latencyMs) } as const]),
  {
    type: 'trial-finished',
    at,
    trial: number,
    chosen: failure ? null : 0,
    feasible: failure === undefined && latencyMs <= 8,
    failure: failure ? { kind: failure, reason: 'why' } : null,
  },
];

describe('the panel of a trial', () => {
  it("has the client's own part of the latency only where it was measured", () => {
    const server = { requestUs: 3000, queueUs: 1000, computeInputUs: 500, computeInferUs: 1000, computeOutputUs: 500 };
    const clientTimes = { requests: 9, marshalUs: 100, sendUs: 900, waitUs: 5500, receiveUs: 400, unmarshalUs: 100 };
    const legendOf = (more: object): string => {
      const measurement = { ...measured(8, 200, 7), server, ...more } as ReturnType<typeof measured>;
      const records: StudyRecord[] = [
        studyStarted(goalOf(8)),
        { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: toCandidate(originalConfig) },
        { type: 'trial-measured', at, trial: 0, measurement },
        { type: 'trial-finished', at, trial: 0, chosen: 0, feasible: true, failure: null },
      ];
      const { avg } = measurement.latencyMs;
      const panel = textOf(trialPanel(new ViewFold(records).view(), initialInteraction, { columns: 90, rows: 30 }));
      return `${avg}: ${/^.*infer 1 .*$/m.exec(panel)?.[0] ?? panel}`;
    };
    expect(legendOf({})).toMatchInlineSnapshot(
      `"7:   · network, client 4  ░ queue 1  ▒ input 0.5  █ infer 1  ▓ output 0.5"`,
    );
    expect(legendOf({ clientTimes })).toMatchInlineSnapshot(
      `"7:   : client 1.5  · network 2.5  ░ queue 1  ▒ input 0.5  █ infer 1  ▓ output 0.5"`,
    );
  });

  it('says by the final whether the best meets the goal, as the rows above it do', () => {
    const final = (number: number, throughput: number, latencyMs: number): StudyRecord => ({
      type: 'final-measured',
      at,
      trial: number,
      round: 1,
      measurement: measured(4, throughput, latencyMs),
    });
    const view = new ViewFold([
      studyStarted(goalOf(8)),
      ...trial(0, originalConfig, 7),
      ...trial(1, configOf(2, 8), 9),
      ...[final(0, 100, 5), final(1, 150, 6)],
      { type: 'gain-decided', at, best: 1, gain: { value: 1.5, low: 1.4, high: 1.6 } },
    ]).view();
    const panel = textOf(trialPanel(view, initialInteraction, { columns: 60, rows: 20 }));
    expect(panel).toMatch(/^─ Trial 1 ─+ meets the goal ─\n/);
    expect(textOf(standingRows(view, 70))).not.toContain('over the budget');
  });

  it('leaves out the head of what has no room', () => {
    const device = { gpuMemoryMiB: 900 };
    const records = [...trial(0, originalConfig, 7)].map((record) =>
      record.type === 'trial-measured' ? { ...record, measurement: { ...record.measurement, device } } : record,
    );
    const view = new ViewFold([studyStarted(goalOf(8)), ...records]).view();
    const panel = (rows: number) => textOf(trialPanel(view, initialInteraction, { columns: 60, rows }));
    expect(panel(5)).toMatch(/ device\n {2}GPU memory 900 MiB$/);
    expect(panel(4)).not.toContain('device');
  });
});

describe('the original in the rows above', () => {
  it('has its failure where it has no figures', () => {
    const records = [...trial(0, originalConfig, 0, 'client-bound'), ...trial(1, configOf(2, 8), 5)];
    const view = new ViewFold([studyStarted(goalOf(8)), ...records]).view();
    expect(textOf(standingRows(view, 70))).toMatch(/\noriginal +not measured: client-bound$/);
  });
});

describe('the table of trials', () => {
  it('has room for the batch beside the concurrency where a study varies it', () => {
    const rowFor = (value: number, batch?: number): string | undefined => {
      const levels = {
        mode: 'concurrency',
        low: 1,
        high: 256,
        ...(batch && { batch: { low: 1, high: 1024 } }),
      } as const;
      const level = { mode: 'concurrency', value, ...(batch && { batch }) } as const;
      const measurement = measured(value, 84_710, 1.14, { level });
      const records: StudyRecord[] = [
        studyStarted(goalOf(8), { levels }),
        { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: toCandidate(originalConfig) },
        { type: 'trial-measured', at, trial: 0, measurement },
        { type: 'trial-finished', at, trial: 0, chosen: 0, feasible: true, failure: null },
      ];
      const panel = trialsPanel(new ViewFold(records).view(), initialInteraction, { columns: 70, rows: 5 });
      return textOf(panel).split('\n')[2];
    };
    expect(rowFor(64)).toMatchInlineSnapshot(`"›  0 ★   84,710     1.14   64   original"`);
    expect(rowFor(1, 112)).toMatchInlineSnapshot(`"›  0 ★   84,710     1.14    1×112   original"`);
    expect(rowFor(128, 1024)).toMatchInlineSnapshot(`"›  0 ★   84,710     1.14 128×1024   original"`);
  });
});
