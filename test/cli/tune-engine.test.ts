import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { shellLine } from '#base/shell-words.ts';
import { callCli } from '../support/call-cli.ts';
import { runCli, startCli, untilRecorded } from '../support/cli.ts';
import { quickSpace } from '../support/language/quick-space.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

const script = resolve(import.meta.dirname, '../support/language/quick-engine.ts');
const launch = `${shellLine([process.execPath, script])} --max-num-seqs 1 --port {port} {flags}`;
let space: string;
let asked: readonly string[];

beforeAll(async () => {
  space = join(await freshDirectory(), 'space.json');
  await writeFile(space, JSON.stringify(quickSpace(4)));
  asked = [
    ...['tune', '-m', 'quick', '--endpoint', 'openai', '--launch-command', launch, '--space', space],
    ...['--goodput', 'ttft<=1s itl<=500ms', '--input-tokens', '8', '--output-tokens', '4', '--prompts', '8'],
    ...['--concurrency', '4:4', '--precision', '50', '--ui', 'lines', '--sampler', 'grid'],
  ];
});

/**
 * The servers of a study that still run, by the ports that its logs do not tell but its processes.
 */
async function serversLeft(directory: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const environment = await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '');
    if (line.includes('quick-engine.ts') && environment.includes(`QUICK_ENGINE=${directory}`)) found.push(pid);
  }
  return found;
}

async function untilNoneIsLeft(directory: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    if ((await serversLeft(directory)).length === 0) return;
    await new Promise((wake) => setTimeout(wake, 100));
  }
  throw new Error(`servers are left: ${await serversLeft(directory)}`);
}

const environmentOf = (directory: string): { env: Record<string, string> } => ({ env: { QUICK_ENGINE: directory } });

describe('tune with a launch command', { timeout: 240_000 }, () => {
  it('starts the server once for each candidate, tells how the best is started, and ends it', async () => {
    const output = await freshDirectory();
    const run = await runCli([...asked, '-o', output], environmentOf(output));
    expect(run.stderr).toBe('');
    expect(run.code).toBe(0);
    const summary = await summaryOf(output);
    expect(summary.best?.assignment).toHaveProperty('max_num_seqs');
    expect(summary.gain?.ratio).toBeGreaterThan(1.2);
    expect(run.stdout.trimEnd().split('\n').at(-1)).toMatch(
      /^model +the server that was started for the run has ended$/,
    );
    expect(await readFile(join(output, 'best', 'launch.sh'), 'utf8')).toMatch(/--port "\$PORT" --max-num-seqs 4/);
    const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
    expect(measured[0]?.measurement.tokens?.outputTokens.mean).toBe(4);
    expect(measured[0]?.measurement.engine).toHaveProperty('runningSequences');
    await untilNoneIsLeft(output);
  });

  it('leaves no server behind when it is interrupted, or killed, and goes on with the study', async () => {
    const output = await freshDirectory();
    const killed = startCli([...asked, '-o', output], environmentOf(output));
    await untilRecorded(output, killed, ({ type }) => type === 'trial-applied');
    killed.child.kill('SIGKILL');
    await killed.ended;
    await untilNoneIsLeft(output);
    const interrupted = startCli(['tune', '--resume', output, '--ui', 'lines'], environmentOf(output));
    await untilRecorded(output, interrupted, (record) => record.type === 'trial-applied' && record.trial > 0);
    interrupted.child.kill('SIGINT');
    const { code, stdout } = await interrupted.ended;
    expect(code).toBe(130);
    expect(stdout).toMatch(/the server that was started for the run has ended/);
    await untilNoneIsLeft(output);
  });

  it('says what to type where there is nothing to set, or no way to start it', async () => {
    const attach = await callCli(['tune', '-m', 'm', '--endpoint', 'openai', '-u', 'localhost:8000']);
    expect(attach.code).toBe(2);
    expect(attach.stderr).toMatch(
      /settings of the running server.*cannot be changed.*tritune profile --endpoint openai -u localhost:8000 -m m/s,
    );
    const unknown = await callCli(['tune', '-m', 'm', '--launch-command', './serve --port {port}']);
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toMatch(/--space/);
    const portless = await callCli(['tune', '-m', 'm', '--launch-command', 'vllm serve m']);
    expect(portless.code).toBe(2);
    expect(portless.stderr).toMatch(/\{port\}/);
    const two = await callCli(['tune', '-m', 'a,b', '--launch-command', 'vllm serve m --port {port}', '--dry-run']);
    expect(two.code).toBe(2);
    expect(two.stderr).toMatch(/--launch-command works with one model only/);
  });

  it('says what it would try, and starts nothing', async () => {
    const launched = join(await freshDirectory(), 'launched');
    const command = shellLine(['touch', launched, '--port', '{port}', '{flags}']);
    const options = [
      '--launch-command',
      command,
      '--endpoint',
      'openai',
      '--space',
      'engines/vllm',
      '--max-trials',
      '5',
    ];
    const { code, stderr, stdout } = await callCli(['tune', '-m', 'm', ...options, '--dry-run']);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/max_num_seqs/);
    expect(stdout).toMatch(/sampler queueing: up to 5 trials/);
    expect(stdout).toMatch(/nothing was started\n$/);
    await expect(readFile(launched)).rejects.toThrow('ENOENT');
  });
});
