import { execFile } from 'node:child_process';
import { rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { foldStudy } from '#study/records/fold.ts';
import { readJournal } from '#study/records/journal.ts';
import { startCli, untilRecorded } from '../support/cli.ts';
import { failuresIn, freshDirectory, summaryOf } from '../support/run-directory.ts';
import { casesOf, endsWithin, isOnServer, lastLineOf, runHere, shortRun, stageOf, untilOnServer } from './own-stage.ts';

const execute = promisify(execFile);
const ENDS_WITHIN_MS = 40_000;

/** A run that has another config than the original on the server. */
async function begun(through: readonly string[] = []) {
  const stage = await stageOf();
  const output = join(await freshDirectory(), 'run');
  const running = startCli(shortRun('m', stage.url, output), { through });
  await untilRecorded(output, running, isOnServer);
  return { stage, output, running };
}

/** A coded end that says how the model was left, which is true. */
function expectCodedEnd({ code, stdout, stderr }: Awaited<ReturnType<typeof runHere>>, reason: RegExp): void {
  expect(code, stderr).toBe(2);
  expect(stderr).toMatch(/^model {6}'m' has its original config again$/m);
  expect(lastLineOf(stderr)).toMatch(/^tritune: OUTPUT_UNWRITABLE: [^\n]+ \([^\n]+\)$/);
  expect(stderr).toMatch(reason);
  expect(stdout).toMatch(/^restored: 'm' has its original config again$/m);
  expect(stdout).not.toMatch(/NOT/);
}

describe('a disk that is full', { timeout: 90_000 }, () => {
  it('ends the run with the model put back; the journal stays whole, and the study goes on when there is room', async () => {
    const { stage, output, running } = await begun();
    const journal = join(output, 'journal.jsonl');
    // Room for a part of the next record: a write that the system cuts short, and then one that it
    // refuses.
    const room = (await stat(journal)).size + 300;
    await execute('prlimit', [`--pid=${running.child.pid}`, `--fsize=${room}`]);
    const ended = await endsWithin(ENDS_WITHIN_MS, running, running.ended);
    expectCodedEnd(ended, /OUTPUT_UNWRITABLE: cannot write [^\n]*journal\.jsonl: EFBIG/);
    expect(await stage.isOriginal('m')).toBe(true);
    const records = await readJournal(journal);
    expect((await stat(journal)).size).toBeLessThan(room);
    expect(foldStudy(records).restored).toBeNull();
    expect(await runHere(['restore', output])).toMatchObject({
      code: 0,
      stdout: `${output}: 'm' has its original config again\n`,
    });
    // The trial that was under way is measured to its end; for another one no time is left.
    expect(await runHere(['tune', '--resume', output, '--time-budget', '1s'])).toMatchObject({ code: 0, stderr: '' });
    expect(await summaryOf(output)).toMatchObject({ interrupted: false, counts: { trials: 2 } });
    expect(await failuresIn(output)).toEqual([]);
  });
});

describe('an output directory that goes away', { timeout: 180_000 }, () => {
  const losses: readonly (readonly [string, (output: string) => Promise<void>])[] = [
    ['is removed', (output) => rm(output, { recursive: true })],
    ['is moved', (output) => rename(output, `${output}-elsewhere`)],
  ];

  it.each(casesOf(1, losses))('ends the run at its next record when it %s', async (_, lose) => {
    const stage = await stageOf();
    const output = join(await freshDirectory(), 'run');
    const run = runHere(shortRun('m', stage.url, output));
    await untilOnServer(output);
    await lose(output);
    expectCodedEnd(await run, /journal\.jsonl: it was moved or deleted while the run wrote to it/);
    expect(await stage.isOriginal('m')).toBe(true);
  });
});

describe('a reader of the output that goes away', { timeout: 180_000 }, () => {
  const outputs: readonly (readonly [string, readonly string[]])[] = [
    ['a closed pipe', []],
    ['a full disk', ['sh', '-c', 'exec "$@" > /dev/full', '-']],
  ];

  it.each(casesOf(1, outputs))('%s: the run goes on, and ends in order when it is told to', async (_, through) => {
    const { stage, output, running } = await begun(through);
    running.child.stdout?.destroy();
    running.child.stderr?.destroy();
    await untilRecorded(output, running, (record) => record.type === 'trial-applied' && record.trial === 2);
    running.child.kill('SIGTERM');
    expect((await endsWithin(ENDS_WITHIN_MS, running, running.ended)).code).toBe(130);
    expect(await stage.isOriginal('m')).toBe(true);
    expect(await summaryOf(output)).toMatchObject({ interrupted: true, restored: { verified: true } });
  });
});
