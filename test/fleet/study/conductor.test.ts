import { describe, expect, it } from 'vitest';
import type { WorkOutcome } from '#fleet/study/work.ts';
import { makeSampler } from '#study/search/samplers/registry.ts';
import { listBudgetedProblems } from '../../../lab/problems/problem.ts';
import { scenarios } from '../../../lab/problems/problems.ts';
import { type FleetOutcome, playFleet, type VirtualFleet } from '../../support/virtual-fleet.ts';

const [problem] = scenarios(1).flatMap((each) => listBudgetedProblems(each));
const trials = 16;

/**
 * A study in virtual time; by a sampler without a model unless told otherwise, which takes little
 * of a core.
 */
function play(change: Partial<VirtualFleet>): Promise<FleetOutcome> {
  if (!problem) throw new Error('there is no scenario');
  const make: VirtualFleet['make'] = (space, options) => makeSampler('random', space, options);
  return playFleet({ problem, make, seed: 1, speeds: [1], maxTrials: trials, ...change });
}

const finished = ({ records }: FleetOutcome): readonly number[] =>
  records.flatMap((record) => (record.type === 'trial-finished' && record.trial > 0 ? [record.trial] : []));

describe('a study over several servers', () => {
  it('tries as many candidates, each once, in a fraction of the time', async () => {
    const [one, four] = [await play({}), await play({ speeds: [1, 1, 1, 1] })];
    for (const outcome of [one, four]) {
      expect(finished(outcome).toSorted((a, b) => a - b)).toEqual(Array.from({ length: trials }, (_, at) => at + 1));
      const { trials: all } = outcome.state;
      expect(new Set(all.map(({ candidate }) => candidate.fingerprint)).size).toBe(all.length);
    }
    // With the original on each server, which takes as long as it does on one, and without a fourth
    // for the last trial.
    expect(one.searchSeconds / four.searchSeconds).toBeGreaterThan(0.6 * 4);
  });

  it('finds how fast each server is beside the first, and compares what they measured by that', async () => {
    const { state } = await play({ speeds: [1, 0.8, 1.25] });
    const [first, slow, fast] = state.speeds.servers ?? [];
    expect(first?.times.value).toBe(1);
    expect(Math.abs(Math.log((slow?.times.value ?? 0) / 0.8))).toBeLessThan(0.06);
    expect(Math.abs(Math.log((fast?.times.value ?? 0) / 1.25))).toBeLessThan(0.06);
    expect(slow?.times.low).toBeLessThan(0.8);
    expect(slow?.times.high).toBeGreaterThan(0.8);
  });

  it('gives the trial of a lost server to another, and ends one that loses each', async () => {
    let lost = 0;
    const lose = (outcome: WorkOutcome): WorkOutcome => {
      const { work } = outcome;
      const isUnlucky = work.kind === 'trial' && (work.trial === 3 ? work.attempt === 1 : work.trial === 5);
      if (!isUnlucky) return outcome;
      lost++;
      return { kind: 'lost', work, reason: 'its worker was killed' };
    };
    const outcome = await play({ speeds: [1, 1], disturb: lose });
    expect(lost).toBe(4);
    expect(finished(outcome).toSorted((a, b) => a - b)).toEqual(Array.from({ length: trials }, (_, at) => at + 1));
    const [third, fifth] = [3, 5].map((number) => outcome.state.trials.find((each) => each.number === number));
    expect(third?.failure).toBeNull();
    expect(fifth?.failure).toMatchObject({ kind: 'server-lost', reason: expect.stringContaining('3 times') });
    expect(outcome.records.filter(({ type }) => type === 'server-left').length).toBe(4);
  });

  it('leaves out a server with another model, and ends where there is no other', async () => {
    const unfit =
      (server: string) =>
      (outcome: WorkOutcome): WorkOutcome =>
        outcome.work.server === server ? { kind: 'unfit', work: outcome.work, reason: 'another model' } : outcome;
    const two = await play({ speeds: [1, 1], disturb: unfit('s1') });
    expect(two.state.servers).toMatchObject([
      { name: 's0', left: null },
      { name: 's1', left: 'another model' },
    ]);
    expect(finished(two).length).toBe(trials);
    const one = await play({ disturb: unfit('s0') });
    expect(one.end.failure?.message).toContain('no server can run this study: s0: another model');
  });

  it('writes down what each server is measured on', async () => {
    const machine = { processor: 'p', cores: 2, memoryMib: 4, system: 's', servesHere: true, gpus: [] };
    const { state } = await play({ speeds: [1, 1], report: () => ({ machines: { s1: machine } }) });
    expect(state.servers.map((server) => server.machine)).toEqual([undefined, machine]);
  });

  it('writes down once why a server does not take it, and ends where none does', async () => {
    const away = { server: 'x', reason: 'agent load1:7411: it cannot be reached', isFinal: false };
    const others = await play({ speeds: [1, 1], report: () => ({ refusals: [away] }) });
    expect(others.records.filter(({ type }) => type === 'server-left')).toMatchObject([
      { server: away.server, reason: away.reason },
    ]);
    expect(finished(others).length).toBe(trials);
    const refused = { ...away, reason: 'the model is protected', isFinal: true };
    const none = await play({ report: () => ({ idle: [], refusals: [refused] }) });
    expect(none.end.failure?.message).toContain('no server can run this study: x: the model is protected');
    // One that is away may still come.
    await expect(play({ report: () => ({ idle: [], away: 1, refusals: [refused] }) })).rejects.toThrow('stands still');
  });

  it('pauses when nothing is under way, and the time of that does not count', async () => {
    let [asked, quiet] = [false, 0];
    const outcome = await play({
      speeds: [1, 1],
      report: (count) => {
        asked ||= count >= 4;
        const isPaused = asked && quiet++ < 5;
        return { steered: { isPaused, stopsSearch: false } };
      },
    });
    const types = outcome.records.map(({ type }) => type);
    const [from, to] = [types.indexOf('study-paused'), types.indexOf('study-continued')];
    expect(to).toBe(from + 1);
    expect(from).toBeGreaterThan(0);
    expect(finished(outcome).length).toBe(trials);
    const wallSeconds = Date.parse(outcome.records.at(-1)?.at ?? '') - Date.parse(outcome.records[0]?.at ?? '');
    expect(wallSeconds / 1000 - outcome.state.elapsedSeconds).toBeGreaterThan(100);
  });

  it('ends the search that a person stops, and plays the final', async () => {
    const { end, state } = await play({
      speeds: [1, 1],
      finalRounds: 2,
      report: (count) => ({ steered: { isPaused: false, stopsSearch: count >= 4 } }),
    });
    expect(end.stopReason).toBe('stopped by the user');
    expect(state.trials.length).toBeLessThan(trials);
    expect(state.gain).not.toBeNull();
  });

  it('plays the final on one server', async () => {
    const { records, state } = await play({ speeds: [1, 1, 1], finalRounds: 2 });
    const finals = records.flatMap((record) => (record.type === 'final-measured' ? [record.server] : []));
    expect(finals.length).toBeGreaterThan(2);
    expect(new Set(finals.filter((server) => server !== undefined))).toEqual(new Set(['s0']));
    expect(state.gain).not.toBeNull();
  });
});
