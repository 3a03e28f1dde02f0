import { expect, it } from 'vitest';
import { StandIn } from '#fleet/study/stand-in.ts';
import type { Work, WorkOutcome } from '#fleet/study/work.ts';
import { makeSampler } from '#study/search/samplers/registry.ts';
import { listBudgetedProblems } from '../../../lab/problems/problem.ts';
import { scenarios } from '../../../lab/problems/problems.ts';
import { playFleet } from '../../support/virtual-fleet.ts';

it('tells a sampler of originals on other servers until the baseline has finished', async () => {
  const [problem] = scenarios(1).flatMap((each) => listBudgetedProblems(each));
  if (!problem) throw new Error('there is no scenario');
  const make: Parameters<typeof playFleet>[0]['make'] = (space, options) => makeSampler('random', space, options);
  const { state } = await playFleet({ problem, make, seed: 1, speeds: [1], maxTrials: 1 });
  const before = { ...state, baseline: null, compared: { ...state.compared, trials: [] } };
  const measurements = state.baseline?.measurements ?? [];
  const toOutcome = (kind: Work['kind']): WorkOutcome => ({
    kind: 'done',
    work: { kind } as Work,
    measurements,
    failure: null,
  });

  const standIn = new StandIn([]);
  expect(standIn.trialsIn(before)).toBeNull();
  standIn.take(toOutcome('trial'));
  expect(standIn.trialsIn(before)).toBeNull();
  standIn.take(toOutcome('original'));
  expect(standIn.trialsIn(before)).toMatchObject([{ number: 0, role: 'baseline', measurements, failure: null }]);
  expect(standIn.trialsIn(state)).toBe(state.compared.trials);
  // So does one that is made over the journal of another.
  const kept = { type: 'original-measured', at: '', server: 's1', measurement: measurements[0] } as const;
  expect(new StandIn([kept] as never).trialsIn(before)).toHaveLength(1);
});
