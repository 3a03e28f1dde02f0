import { describe, expect, it } from 'vitest';
import { loadProfile } from '#emulator/profile/profiles.ts';
import { buildCandidate } from '#space/candidate.ts';
import { toModelConfig } from '#space/model-configs.ts';
import { spaceFromJson } from '#space/source/load.ts';
import { type NoWhatIf, type WhatIf, whatIf } from '#study/analysis/what-if.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { StudyState } from '#study/records/state.ts';
import { VirtualServer } from '../support/virtual-server.ts';
import { tuneVirtually } from '../support/virtual-study.ts';

const tried = { instances: [1, 2], dynamic_batching: ['on'], queue_delay_us: [0, 1000], max_batch_size: [1, 8, 16] };
/** What the study might have tried as well. */
const space = spaceFromJson({ name: 'test', parameters: { ...tried, instances: [1, 2, 3, 4] } });

async function studied(profile: string, more: Partial<Extract<StudyRecord, { type: 'study-started' }>> = {}) {
  const { records } = await tuneVirtually(loadProfile(profile), tried, 40);
  const widened = records.map((record) =>
    record.type === 'study-started' ? { ...record, space: space.definition, ...more } : record,
  );
  return foldStudy(widened);
}

function predicted(state: StudyState): WhatIf {
  const told: WhatIf | NoWhatIf = whatIf(state);
  if ('reason' in told) throw new Error(told.reason);
  return told;
}

describe('what if', () => {
  it('predicts configs that nobody measured, within the range that it states', async () => {
    const state = await studied('demo');
    const told = predicted(state);
    const { misses, levels, configs, parameters } = told;
    if (!misses) throw new Error('no misses');
    const server = new VirtualServer(loadProfile('demo'));
    const misjudged: string[] = [];
    let cells = 0;
    for (const config of configs.filter(({ trial }) => trial === null)) {
      const assignment = Object.fromEntries(
        parameters.map(({ name, values }, parameter) => {
          const text = values[config.settings[parameter] as number] as string;
          return [name, text === 'not set' ? 0 : Number(text)];
        }),
      );
      const built = buildCandidate(space, state.started.original, { dynamic_batching: true, ...assignment });
      if (!built.legal) throw new Error(built.reason);
      for (const [index, level] of levels.entries()) {
        const cell = config.cells[index];
        if (!cell) continue;
        cells++;
        const truth = server.measure(toModelConfig(built.candidate), level).throughput.value;
        const { low = 0, high = Number.POSITIVE_INFINITY } = cell.throughputRange ?? {};
        if (truth < low || truth > high) {
          misjudged.push(
            `${JSON.stringify(assignment)} at ${level}: ${cell.throughput} (${low} to ${high}) for ${truth}`,
          );
        }
      }
    }
    expect(cells).toBeGreaterThan(30);
    expect(misjudged.length / cells, misjudged.join('\n')).toBeLessThan(0.1);
  });

  it('begins with the best, gives the same every time, and knows what was measured', async () => {
    const state = await studied('demo');
    const told = predicted(state);
    expect(told.configs[0]?.trial).toBe(state.best?.number);
    expect(predicted(state)).toEqual(told);
    const measuredTrials = told.configs.flatMap(({ trial }) => trial ?? []);
    expect(new Set(measuredTrials).size).toBe(measuredTrials.length);
    for (const { settings } of told.configs) {
      expect(settings.every((value, parameter) => told.parameters[parameter]?.values[value] !== undefined)).toBe(true);
    }
    const guesses = told.configs.filter(({ cells }) => cells.some((cell) => cell?.isGuess));
    expect(guesses.every(({ trial }) => trial === null)).toBe(true);
    expect(guesses.length).toBeGreaterThan(0);
  });

  it('does not propose what failed, nor what must fail likewise', async () => {
    const { records } = await tuneVirtually(loadProfile('oom'), { ...tried, instances: [1, 2, 3, 4] }, 30);
    const state = foldStudy(
      records.map((record) => (record.type === 'study-started' ? { ...record, space: space.definition } : record)),
    );
    expect(state.counts.failed).toBeGreaterThan(0);
    const { parameters } = predicted(state);
    expect(parameters.find(({ name }) => name === 'instances')?.values).toEqual(['1', '2', '3']);
  });

  it('says why there is nothing to move', async () => {
    const state = await studied('demo');
    const rates = {
      ...state,
      started: { ...state.started, levels: { mode: 'request-rate', low: 1, high: 9 } },
    } as const;
    expect(whatIf(rates)).toEqual({ reason: expect.stringContaining('request rates') });
    expect(whatIf({ ...state, best: null })).toEqual({ reason: 'nothing was measured' });
    const blind = state.trials.map((trial) => ({
      ...trial,
      measurements: trial.measurements.map((measurement) => ({ ...measurement, server: null })),
    }));
    const best = blind.find(({ number }) => number === state.best?.number) ?? null;
    expect(
      whatIf({ ...state, trials: blind, compared: { ...state.compared, trials: blind }, best, finals: [], gain: null }),
    ).toEqual({
      reason: expect.stringContaining('statistics'),
    });
  });
});
