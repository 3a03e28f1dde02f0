import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { LaunchedServer } from '#launch/types.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { runCli } from '../support/cli.ts';
import { inShell, type PrintedStep, printedSteps } from '../support/printed-commands.ts';
import { cacheWithTriton, startRealTriton } from '../support/real-triton.ts';
import { freshDirectory } from '../support/run-directory.ts';
import { spaceFile } from './spaces.ts';

const { modelRepository } = inject('realServer');
let server: LaunchedServer;
let client: TritonClient;
let env: Readonly<Record<string, string>>;
beforeAll(async () => {
  const loadModels = ['sleeper', 'judge'];
  env = { XDG_CACHE_HOME: await cacheWithTriton() };
  server = await startRealTriton(modelRepository, { loadModels });
  client = connectGrpc(server.grpcUrl);
});
afterAll(async () => {
  await client.close();
  await server.stop();
});

const quick = ['--ui', 'lines', '--sampler', 'grid', '--max-trials', '1', '--precision', '10', '-o', 'a run'];

/** Runs every command as printed. Returns the labels of the steps. */
async function runAll(steps: readonly PrintedStep[], cwd: string): Promise<readonly string[]> {
  for (const { label, command } of steps) {
    if (command === null) continue;
    const { code, output } = await inShell(command, cwd, env);
    // Whether two runs on a busy machine tell a regression apart is not the question here.
    expect(label === 'in each build' ? [0, 5, 6] : [0], `${command}\n${output}`).toContain(code);
  }
  return steps.map(({ label }) => label);
}

const tune = async (cwd: string, ...more: string[]) => {
  const outcome = await runCli(['tune', ...more, ...quick], { cwd, env });
  expect(outcome, outcome.stderr).toMatchObject({ code: 0 });
  return printedSteps(outcome.stdout);
};

describe('the commands that a run prints at its end, on a real Triton', { timeout: 600_000 }, () => {
  it('copy the best config into the repository of a launched server, and measure it there', async () => {
    const cwd = await freshDirectory();
    await cp(join(modelRepository, 'sleeper'), join(cwd, 'models', 'sleeper'), { recursive: true });
    const launch = ['--launch', 'local', '--model-repository', 'models', '-m', 'sleeper', '--concurrency', '8:8'];
    const steps = await tune(cwd, ...launch, '--space', await spaceFile('sleeper'));
    expect(await runAll(steps, cwd)).toEqual([
      'look at it: open a run/report.html in a browser',
      'keep it',
      'baseline for CI',
      'in each build',
    ]);
    expect(await readFile(join(cwd, 'models/sleeper/config.pbtxt'), 'utf8')).toBe(
      await readFile(join(cwd, 'a run/best/sleeper/config.pbtxt'), 'utf8'),
    );
    expect(JSON.parse(await readFile(join(cwd, 'run.json'), 'utf8'))).toMatchObject({
      model: 'sleeper',
      protocol: 'grpc',
    });
  });

  it('load it on a server that runs', async () => {
    const cwd = await freshDirectory();
    const before = await client.modelConfig('sleeper');
    const where = ['-u', server.grpcUrl, '-m', 'sleeper', '--concurrency', '8:8'];
    const steps = await tune(cwd, ...where, '--space', await spaceFile('sleeper'));
    expect(await runAll(steps, cwd)).toContain('or only until the server restarts');
    expect((await client.modelConfig('sleeper')).instance_group).not.toEqual(before.instance_group);
    await client.load('sleeper', before);
  });

  it('load every changed model of a pipeline', async () => {
    const cwd = await freshDirectory();
    const steps = await tune(cwd, '-u', server.grpcUrl, '-m', 'judge', '--concurrency', '8:8');
    expect(await runAll(steps, cwd)).toContain('in each build');
  });
});
