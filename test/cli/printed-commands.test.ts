import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';
import { inShell, printedSteps } from '../support/printed-commands.ts';
import { freshDirectory } from '../support/run-directory.ts';

const quick = ['--ui', 'lines', '--sampler', 'grid', '--max-trials', '1', '--precision', '50'];

describe('the commands that a run prints at its end', { timeout: 400_000 }, () => {
  it('work as printed after a study of an emulated server', async () => {
    const cwd = await freshDirectory();
    const launch = ['tune', '--launch', 'emulator:demo', '-m', 'yolov7', '--concurrency', '8:8'];
    const run = await runCli([...launch, ...quick, '-o', "first 'run'"], { cwd });
    expect(run).toMatchObject({ code: 0, stderr: '' });
    const steps = printedSteps(run.stdout);
    expect(steps.map(({ label }) => label)).toContain('tune a model of your server, step by step');
    for (const { label, command } of steps) {
      // It asks questions, and needs a terminal.
      if (command === null || label.startsWith('tune a model of your server')) continue;
      const { code, output } = await inShell(command, cwd);
      // Whether two runs on a busy machine tell a regression apart is not the question here.
      expect(label === 'in each build' ? [0, 5, 6] : [0], `${command}\n${output}`).toContain(code);
    }
    if (steps.some(({ label }) => label === 'in each build'))
      expect(JSON.parse(await readFile(join(cwd, 'run.json'), 'utf8'))).toMatchObject({ model: 'yolov7' });
  });
});
