import { describe, expect, it } from 'vitest';
import type { AgentFigures } from '#profiler/client-figures.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { reportHtml } from '#report/report-html.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { agentsOver, describeAgent, describeAgents } from '#study/summary/agent-words.ts';
import { summarize } from '#study/summary/summary.ts';
import { initialInteraction } from '#tui/interaction.ts';
import { trialPanel } from '#tui/panels/trial.ts';
import { ViewFold } from '#tui/state.ts';
import { goalOf, measured, originalConfig, studyStarted, toCandidate } from './builders.ts';

const agent = (address: string, change: Partial<AgentFigures> = {}, offsetMs = 3): AgentFigures => ({
  address,
  version: '0.2.0',
  cores: 8,
  threads: 2,
  cpuShare: 0.2,
  eventLoopDelayMs: 1,
  bound: false,
  clock: { offsetMs, uncertaintyMs: 0.27, driftMs: -0.05, driftUncertaintyMs: 0.6 },
  ...change,
});

const by = (level: number, ...agents: readonly AgentFigures[]): Measurement => {
  const measurement = measured(level, 200, 7);
  return { ...measurement, client: { ...measurement.client, agents } };
};

const late = { sends: 1000, lateSends: 20, bound: true, reason: 'it was <late>' };
const both = [by(8, agent('a:1'), agent('b:1')), by(16, agent('a:1', {}, 5), agent('b:1', late, -2))];

describe('the agents that sent the load', () => {
  it('are put together over all measurements', () => {
    const [a, b] = agentsOver(both);
    expect(a).toMatchObject({ measurements: 2, bound: 0, offsetMs: 5, driftMs: 0.05, lateShare: null });
    expect(b).toMatchObject({ measurements: 2, bound: 1, offsetMs: -2, lateShare: 0.02, reason: 'it was <late>' });
    expect(describeAgents(agentsOver(both))).toBe(
      '2 agents of 2 threads each; clocks known to ± 0.27 ms or better, drift up to 0.05 ms; the limit: b:1 in 1 of 2',
    );
    expect(agentsOver(both).map(describeAgent)).toEqual([
      'a:1: 2 threads of 8 cores, tritune 0.2.0; clock +5 ms, known to ± 0.27 ms, drift up to 0.05 ms; never the limit',
      'b:1: 2 threads of 8 cores, tritune 0.2.0; clock -2 ms, known to ± 0.27 ms, drift up to 0.05 ms; 2 % of sends late; the limit in 1 of 2 measurements: it was <late>',
    ]);
    expect([agentsOver([measured(8, 1, 1)]), describeAgents([])]).toEqual([[], '']);
  });

  it('stand in the report and on the screen, and nothing does without them', () => {
    const at = '2026-01-01T00:00:01.000Z';
    const records = (measurements: readonly Measurement[]): StudyRecord[] => [
      studyStarted(goalOf(8)),
      { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: toCandidate(originalConfig) },
      ...measurements.map((measurement): StudyRecord => ({ type: 'trial-measured', at, trial: 0, measurement })),
      { type: 'trial-finished', at, trial: 0, chosen: 0, feasible: true, failure: null },
    ];
    const pageOf = (all: readonly StudyRecord[]): string => {
      const state = foldStudy(all);
      return reportHtml(state, summarize(state, 'journal.jsonl'), null);
    };
    const panelOf = (all: readonly StudyRecord[]): string =>
      trialPanel(new ViewFold(all).view(), initialInteraction, { columns: 90, rows: 40 })
        .map((row) =>
          row
            .map(({ text }) => text)
            .join('')
            .trim(),
        )
        .join(' ');
    const page = pageOf(records(both));
    expect(page).toContain('<dt>agents</dt><dd>2 agents of 2 threads each; clocks known');
    expect(page).toContain('<dt>agent 2</dt><dd>b:1: 2 threads');
    expect(page).toContain('it was &#60;late&#62;');
    expect(panelOf(records(both))).toContain('2 agents of 2 threads each; clocks known to ± 0.27 ms');
    const none = records([measured(8, 200, 7)]);
    expect(pageOf(none)).not.toContain('<dt>agent');
    expect(panelOf(none)).not.toContain('agents of');
  });
});
