import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { startEmulator } from '#emulator/start-emulator.ts';
import { smallProfile } from '../support/emulator.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';
import { type Sitting, sitDown } from './pseudo-terminal.ts';

const emulator = await startEmulator({ profile: smallProfile({ config: { dynamic_batching: {} } }) });
afterAll(() => emulator.close());

const SIGTERM = 15;
const [HOME, END, DOWN, RIGHT, LEFT] = ['\u001b[H', '\u001b[F', '\u001b[B', '\u001b[C', '\u001b[D'];

/** A seat at a terminal that is left with the test, also with one that fails. */
const seat: typeof sitDown = (args, setting) => {
  const at = sitDown(args, setting);
  onTestFinished(() => at.leave());
  return at;
};

async function start(more: readonly string[] = [], env = {}): Promise<{ at: Sitting; output: string }> {
  const output = await freshDirectory();
  const fixed = ['tune', '-m', 'm', '-u', emulator.grpcUrl, '--concurrency', '1:4', '--sampler', 'grid'];
  const args = [...fixed, '--precision', '20', '--latency-budget', '500', '-o', output, ...more];
  return { at: seat(args, { env }), output };
}

/**
 * The terminal is as before, with its cursor, and what is left on it says how the model was left.
 */
function expectGivenBack({ isAlternate, written }: Sitting): void {
  expect(isAlternate()).toBe(false);
  expect(written()).toMatch(/model +'m' has its original config/);
}

describe('on a terminal', { timeout: 120_000 }, () => {
  it('shows the run, takes keys, follows its size, and stays until it is closed', async () => {
    const { at, output } = await start(['--max-trials', '2']);
    await at.until(/measuring concurrency \d+, window \d/);
    expect(at.isAlternate()).toBe(true);
    at.press('?');
    await at.until(/─ Keys ─/);
    at.resize(120, 40);
    await at.until(/─ Keys ─{100}/);
    at.press('?');
    await at.until(/infer\/s over p99 ms/);
    at.press('b');
    await at.until(/budget in ms, now 500 ms: 500_/);
    at.press('\u007f\u007f\u007f250\r');
    await at.until(/p99 ≤ 250 ms/);
    await at.until(/▶ trial 1/);
    at.press('s');
    await at.until(/▶ trial 2|final/);
    await at.until(/the run has ended; its files are in/);
    at.press('x');
    await at.until(/written: .*config\.pbtxt/);
    at.press('q');
    expect(await at.ended).toBe(0);
    expectGivenBack(at);
    expect(at.written()).toMatch(/report +\S+report\.html/);
    const records = await recordsOf(output);
    expect(records.find(({ type }) => type === 'goal-changed')).toMatchObject({ goal: { budget: { latencyMs: 250 } } });
    expect(await summaryOf(output)).toMatchObject({ budget: { percentile: 99, latencyMs: 250 }, interrupted: false });
    const { best } = await summaryOf(output);
    expect(await readFile(join(output, `trial-${best?.trial}`, 'm', 'config.pbtxt'), 'utf8')).toContain('name: "m"');
  });

  it('narrows the search and tries what a person put together', async () => {
    const { at, output } = await start(['--max-trials', '12', '--concurrency', '2:2', '--client-batch', '1']);
    await at.until(/▶ trial 1/);
    // Paused, the run waits for the person, however slow the machine is.
    at.press('p');
    await at.until(/⏸ paused/);
    at.press('n');
    await at.until(/─ Search space ─/);
    await at.until(/› max_batch_size/);
    at.press(`${RIGHT}${RIGHT}\r`);
    await at.until(/max_batch_size is pinned to 4 from the next trial on/);
    at.press(`${DOWN.repeat(4)}${LEFT} `);
    await at.until(/instances=1 is excluded/);
    at.press('\u001b');
    await at.until(/steered +only max_batch_size=4; not instances=1\n/);
    at.press('t');
    await at.until(/─ A candidate of your own ─/);
    at.press(`${RIGHT.repeat(12)}\r`);
    await at.until(/it is tried next/);
    // The run has taken it.
    at.press('t');
    await at.until(/waiting: +max_batch_size=1024/);
    at.press(`${RIGHT.repeat(12)}${LEFT}\r`);
    await at.until(/it is tried after the one that is waiting/);
    await at.until(/2 trials asked for/);
    at.press('u');
    await at.until(/cancelled: max_batch_size=512/);
    await at.until(/1 trial asked for/);
    at.press('p');
    await at.until(/▶ trial [3-9]/);
    at.press('qy');
    expect(await at.ended).toBe(130);
    expectGivenBack(at);
    const records = await recordsOf(output);
    const starts = records.flatMap((record) => (record.type === 'trial-started' ? [record] : []));
    const byHand = starts.find(({ requested }) => requested);
    expect(byHand?.candidate.assignment).toMatchObject({ max_batch_size: 1024 });
    expect(starts.filter(({ requested }) => requested)).toHaveLength(1);
    expect(records.find(({ type }) => type === 'trial-withdrawn')).toMatchObject({
      assignment: { max_batch_size: 512 },
    });
    const later = starts.slice(starts.indexOf(byHand as (typeof starts)[number]) + 1);
    expect(later.length).toBeGreaterThan(0);
    for (const { candidate } of later) {
      expect(candidate.assignment.max_batch_size).toBe(4);
      expect(candidate.assignment.instances).not.toBe(1);
    }
  });

  it('asks once before it quits, then puts the model back and says where the files are', async () => {
    const { at, output } = await start();
    await at.until(/measuring/);
    at.press('q');
    await at.until(/End the run\?/);
    at.press('\u001b');
    await at.until(/\? help {2}q quit/);
    at.press('q');
    await at.until(/End the run\?/);
    at.press('y');
    expect(await at.ended).toBe(130);
    expectGivenBack(at);
    expect(at.written()).toContain(join(output, 'summary.json'));
    expect((await recordsOf(output)).at(-1)).toMatchObject({ type: 'study-finished', interrupted: true });
  });

  it('keeps the best and goes to the final when asked to, and shows the run again later', async () => {
    const { at, output } = await start();
    // One level of several: what was measured of a trial that is left counts.
    const isMeasured = async (): Promise<boolean> =>
      (await recordsOf(output)).some((record) => record.type === 'trial-measured' && record.trial === 1);
    await expect.poll(isMeasured, { timeout: 180_000 }).toBe(true);
    at.press('q');
    await at.until(/k keep the best/);
    at.press('k');
    await at.until(/the run has ended/);
    at.press('q');
    expect(await at.ended).toBe(0);
    expect(await summaryOf(output)).toMatchObject({ interrupted: false, counts: { trials: 2 } });
    expectGivenBack(at);
    const later = seat(['report', output, '--ui', 'tui']);
    await later.until(/■ ended: stopped by the user/);
    for (const key of [END, 'c', HOME, '\r']) later.press(key);
    await later.until(/─ The original ─[\s\S]*config, against trial 1/);
    later.press('q');
    expect(await later.ended).toBe(0);
    expect(later.isAlternate()).toBe(false);
  });

  it.each([
    ['Ctrl+C', (at: Sitting) => at.press('\u0003')],
    ['SIGTERM', (at: Sitting) => at.signal(SIGTERM)],
  ])('ends in order at %s', async (_, interrupt) => {
    const { at } = await start();
    await at.until(/measuring/);
    interrupt(at);
    expect(await at.ended).toBe(130);
    expectGivenBack(at);
  });

  it('gives the terminal back when a second signal ends the process', async () => {
    const { at } = await start();
    await at.until(/measuring/);
    at.signal(SIGTERM);
    at.signal(SIGTERM);
    expect(await at.ended).toBe(130);
    expect(at.isAlternate()).toBe(false);
    expect(at.written()).toMatch(/again: the model may be left changed|has its original config/);
  });

  it('gives the terminal back before it says what went wrong', async () => {
    const { at } = await start(['-u', '127.0.0.1:1']);
    expect(await at.ended).toBe(4);
    expect(at.wasAlternate()).toBe(true);
    expect(at.isAlternate()).toBe(false);
    expect(await at.screen()).toMatch(/^tritune: SERVER_UNREACHABLE: /m);
  });

  it.each([
    ['a dumb terminal', { TERM: 'dumb' }],
    ['a terminal of CI', { CI: 'true' }],
    ['a terminal with a screen reader', { INK_SCREEN_READER: 'true' }],
  ])('draws no screen on %s', async (_, env) => {
    const { at } = await start(['-u', '127.0.0.1:1'], env);
    expect(await at.ended).toBe(4);
    expect(at.wasAlternate()).toBe(false);
  });

  it('offers to run the emulator when it is started without arguments', async () => {
    const at = seat([], { cwd: await freshDirectory() });
    await at.until(/Which server\?\n[\s\S]* emulator:demo /);
    // Last, behind whatever answers on the usual ports of this machine.
    at.press('\u001b[B'.repeat(5));
    await at.until(/› emulator:demo /);
    at.press('\r');
    await at.until(/› yolov7 +ready/);
    at.press('\r');
    await at.until(/Latency budget[\s\S]*> 50_/);
    at.press('\r');
    await at.until(/expected: /);
    at.press('\r');
    await at.until(/EMULATOR demo[\s\S]*measuring/);
    at.press('qy');
    expect(await at.ended).toBe(130);
    expect(at.isAlternate()).toBe(false);
    expect(at.written()).toMatch(/model +'yolov7' has its original config/);
  });

  it('asks for a run when it is started without arguments', async () => {
    const cwd = await freshDirectory();
    const at = seat([], { cwd });
    await at.until(/Which server\?\n[\s\S]*> /);
    // Whatever answers on the usual ports of this machine: the test's own server is typed.
    at.press('\u007f'.repeat(20) + emulator.grpcUrl);
    await at.until(new RegExp(`> ${emulator.grpcUrl}_`));
    at.press('\r');
    await at.until(/› m +ready/);
    at.press('\r');
    await at.until(/Latency budget/);
    at.press('50\r');
    await at.until(/expected: /);
    // A long command is broken into lines.
    expect((await at.screen()).replaceAll(/\s+/g, ' ')).toContain(
      `/cli/main.js tune -m m -u ${emulator.grpcUrl} --latency-budget 50`,
    );
    at.press('\r');
    await at.until(/measuring/);
    at.press('qy');
    expect(await at.ended).toBe(130);
    expectGivenBack(at);
    const [run] = await readdir(join(cwd, 'tritune-runs'));
    expect((await recordsOf(join(cwd, 'tritune-runs', run ?? '')))[0]).toMatchObject({
      commandLine: ['tune', '-m', 'm', '-u', emulator.grpcUrl, '--latency-budget', '50'],
    });
  });
});
