import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Driver, findRefusal } from '#spec/combinations.ts';
import { callCli } from '../support/call-cli.ts';
import { combinationsOf, openStage } from './stage.ts';

const ENDED_WELL = 0;
/** On a busy machine nothing may be sent in time, and then nothing meets the budget. */
const INFEASIBLE = 3;
const USAGE = 2;

/**
 * Plays every combination of a driver on the emulator: it works, or it is refused with the reason
 * of the table.
 */
export function combinationsSuite(driver: Driver): void {
  let stage: Awaited<ReturnType<typeof openStage>>;
  beforeAll(async () => {
    stage = await openStage();
  });
  afterAll(() => stage.close());
  const combinations = combinationsOf(driver).map((combination) => ({
    ...combination,
    with: combination.extras.join(),
    refusal: findRefusal(combination),
  }));
  const played = combinations.filter(({ refusal }) => refusal === null);
  const refused = combinations.filter(({ refusal }) => refusal !== null);

  describe(driver, { timeout: 120_000 }, () => {
    it.each(played)('of $subject by $load plays $with', async (combination) => {
      const { code, stderr } = await callCli(await stage.argsOf(combination));
      expect([ENDED_WELL, INFEASIBLE], stderr).toContain(code);
    });

    it.each(refused)('of $subject by $load refuses $with', async (combination) => {
      const { code, stderr } = await callCli(await stage.argsOf(combination));
      expect(code).toBe(USAGE);
      // A driver without the option names it.
      expect(stderr.includes(combination.refusal?.reason ?? '') || stderr.includes('unknown option'), stderr).toBe(
        true,
      );
    });
  });
}
