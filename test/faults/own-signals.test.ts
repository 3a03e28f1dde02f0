import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Faults } from '#emulator/faults.ts';
import { startCli, untilRecorded } from '../support/cli.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';
import { casesOf, endsWithin, isOnServer, lastLineOf, runHere, shortRun, stageOf } from './own-stage.ts';

const ENDS_WITHIN_MS = 40_000;
const LONG_LOAD_MS = 6_000;

describe('a signal', { timeout: 180_000 }, () => {
  it.each(casesOf(1, ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const))(
    '%s: the run ends in order, and its last line is true',
    async (signal) => {
      const stage = await stageOf();
      const output = join(await freshDirectory(), 'run');
      const run = startCli(shortRun('m', stage.url, output));
      await untilRecorded(output, run, isOnServer);
      expect(await stage.isOriginal('m')).toBe(false);
      run.child.kill(signal);
      const { code, stdout, stderr } = await endsWithin(ENDS_WITHIN_MS, run, run.ended);
      expect([code, stderr]).toEqual([
        130,
        `tritune: ${signal}: stopping, and putting the model back; interrupt again to stop at once\n`,
      ]);
      expect(lastLineOf(stdout)).toBe("model      'm' has its original config again");
      expect(await stage.isOriginal('m')).toBe(true);
      expect((await recordsOf(output)).at(-1)).toMatchObject({ type: 'study-finished', interrupted: true });
      expect(await summaryOf(output)).toMatchObject({ interrupted: true, restored: { verified: true } });
    },
  );

  it('twice: it ends at once, says what that may leave behind, and `restore` puts it right', async () => {
    const faults: Faults = {};
    const stage = await stageOf(['m'], faults);
    const output = join(await freshDirectory(), 'run');
    const run = startCli(shortRun('m', stage.url, output));
    await untilRecorded(output, run, isOnServer);
    // The model is not back while the second signal comes.
    const loading = new Promise<void>((begun) => {
      faults.delayLoadMs = () => {
        begun();
        return LONG_LOAD_MS;
      };
    });
    run.child.kill('SIGINT');
    await loading;
    run.child.kill('SIGINT');
    const { code, stderr } = await endsWithin(ENDS_WITHIN_MS, run, run.ended);
    expect(code).toBe(130);
    expect(lastLineOf(stderr)).toMatch(
      /^tritune: SIGINT again: the model may be left changed; put it back with \S.* restore /,
    );
    expect(lastLineOf(stderr)).toContain(` restore ${output}`);
    expect(await stage.isOriginal('m')).toBe(false);
    faults.delayLoadMs = () => 0;
    // A load that has begun cannot be called back, so this one is after it.
    expect(await runHere(['restore', output])).toMatchObject({
      code: 0,
      stdout: `${output}: 'm' has its original config again\n`,
    });
    expect(await stage.isOriginal('m')).toBe(true);
    // What somebody sets after that is theirs.
    await stage.client.load('m', { ...(await stage.client.modelConfig('m')), max_batch_size: 7 });
    expect(await runHere(['tune', '--resume', output])).toMatchObject({
      code: 4,
      stderr: expect.stringMatching(/^tritune: RESTORE_FAILED: .*somebody has changed the config.*restore --force/),
    });
    expect((await stage.client.modelConfig('m')).max_batch_size).toBe(7);
    expect((await runHere(['restore', '--force', output])).code).toBe(0);
    expect(await stage.isOriginal('m')).toBe(true);
  });
});
