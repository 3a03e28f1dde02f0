import { writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shellLine } from '#base/shell-words.ts';
import { callCli } from '../support/call-cli.ts';
import { runCli } from '../support/cli.ts';
import { quickSpace } from '../support/language/quick-space.ts';
import { freshDirectory, recordsOf } from '../support/run-directory.ts';

const script = resolve(import.meta.dirname, '../support/language/quick-engine.ts');
const launch = `${shellLine([process.execPath, script])} --max-num-seqs 1 --port {port} {flags}`;

const constant = (value: number) => ({ kind: 'constant', value });

const workload = (classes: object) => ({
  workloadVersion: 1,
  name: 'chat',
  classes,
  phases: [{ durationS: 1, arrivals: { process: 'poisson', perSecond: 20 } }],
});

describe('tune --workload with a language model', { timeout: 240_000 }, () => {
  it('asks prompts by classes over whole passes, and holds replies to the limits of their class', async () => {
    const directory = await freshDirectory();
    const [file, space, output] = ['chat.yaml', 'space.json', 'run'].map((name) => join(directory, name)) as [
      string,
      string,
      string,
    ];
    const classes = {
      short: { weight: 3, ttftMs: 5000, prompts: { inputTokens: constant(4), outputTokens: constant(2) } },
      long: { weight: 1, ttftMs: 0.001, prompts: { inputTokens: constant(16), outputTokens: constant(6) } },
    };
    await writeFile(file, JSON.stringify(workload(classes)));
    await writeFile(space, JSON.stringify(quickSpace(8)));
    const asked = ['tune', '-m', 'quick', '--endpoint', 'openai', '--launch-command', launch, '--space', space];
    const under = ['--workload', file, '--request-rate', '20:20', '--objective', 'goodput', '--max-trials', '1'];
    const run = await runCli([...asked, ...under, '--ui', 'lines', '-o', output]);
    expect(run.stderr).toBe('');
    // 3: on a machine that is too busy to send in time.
    expect([0, 3]).toContain(run.code);
    expect(run.stdout).toContain('workload chat, in passes of 1 s');
    const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
    expect(measured.length).toBeGreaterThanOrEqual(2);
    for (const { measurement } of measured) {
      const [short, long] = measurement.classes ?? [];
      expect([short?.name, long?.name]).toEqual(['short', 'long']);
      // Three of four: 75 in five passes of 20.
      expect(Math.abs((short?.requests ?? 0) / measurement.requests - 0.75)).toBeLessThan(0.06);
      // Nobody keeps the limit of the long ones.
      expect(long?.goodput?.value).toBe(0);
      expect(measurement.goodput?.value).toBeCloseTo(short?.goodput?.value ?? Number.NaN, 6);
    }
  });

  it('refuses classes of another model', async () => {
    const directory = await freshDirectory();
    const file = join(directory, 'two.yaml');
    await writeFile(file, JSON.stringify(workload({ own: {}, other: { model: 'elsewhere' } })));
    const asked = [
      'tune',
      '-m',
      'quick',
      '--endpoint',
      'openai',
      '--launch-command',
      launch,
      '--space',
      'engines/vllm',
    ];
    const { code, stderr } = await callCli([...asked, '--workload', file, '-o', join(directory, 'run')]);
    expect(code).toBe(2);
    expect(stderr).toContain("has requests to 'elsewhere', and a study asks one language model");
  });
});
