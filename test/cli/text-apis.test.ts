import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { shellLine } from '#base/shell-words.ts';
import { textEndpoints } from '#spec/language-spec.ts';
import { runCli } from '../support/cli.ts';
import { cliProgram } from '../support/cli-program.ts';
import { emulatorForTest, languageProfile, languageProfileFile } from '../support/emulator.ts';
import { freshDirectory, summaryOf } from '../support/run-directory.ts';

const requests = ['-m', 'talk', '-b', '4', '--input-tokens', '16', '--prompts', '40'];

async function serverForTest(): Promise<string> {
  const emulator = await emulatorForTest({ profile: languageProfile() });
  return `http://${emulator.httpUrl}`;
}

describe('APIs that answer texts at once', { timeout: 240_000 }, () => {
  it.each(textEndpoints)('%s are profiled: inferences count, and a refusal is none', async (endpoint) => {
    const url = await serverForTest();
    const json = join(await freshDirectory(), 'levels.json');
    const levels = ['--concurrency-range', '2', '--precision', '30', '--json', json];
    const run = await runCli(['profile', '--endpoint', endpoint, '-u', url, ...requests, ...levels]);
    expect([run.code, run.stderr]).toEqual([0, expect.stringMatching(/^40 texts of 16 tokens on average/)]);
    const [level] = JSON.parse(await readFile(json, 'utf8')).levels;
    const { requests: count, durationMs, throughput, errorRate } = level;
    expect(errorRate).toBe(0);
    expect(throughput.value / ((4 * count) / (durationMs / 1000))).toBeCloseTo(1, 1);
    const refused = await runCli([
      'profile',
      '--endpoint',
      endpoint,
      '-u',
      url,
      '-m',
      'another',
      '--request-count',
      '8',
    ]);
    expect(refused.code).toBe(4);
    expect(refused.stderr).toContain('the reply had the status 404');
  });

  it('have a capacity', async () => {
    const url = await serverForTest();
    const limits = ['--latency-budget', '5000', '--time-budget', '12s'];
    const run = await runCli(['capacity', '--endpoint', 'embeddings', '-u', url, ...requests, ...limits]);
    expect(run.code).toBe(0);
    expect(run.stdout).toMatch(/requests\/s: p99 [\d.,]+ ms, met/);
  });

  it('are tuned by a command that starts their server', async () => {
    const folder = await freshDirectory();
    const profile = join(folder, 'profile.json');
    await writeFile(profile, JSON.stringify(languageProfileFile()));
    const space = join(folder, 'space.json');
    await writeFile(space, JSON.stringify({ engine: { name: 'emulator' }, parameters: { max_num_seqs: [8] } }));
    const ports = '--grpc-port 0 --metrics-port 0 --http-port {port}';
    const launch = `${shellLine([process.execPath, cliProgram('main')])} emulate --profile ${profile} ${ports} --max-num-seqs 1 {flags}`;
    const run = await runCli([
      ...['tune', '--endpoint', 'rerank', ...requests, '--launch-command', launch, '--space', space, '-o', folder],
      ...['--concurrency', '4:4', '--precision', '50', '--sampler', 'grid', '--ui', 'lines'],
    ]);
    expect([run.code, run.stderr]).toEqual([0, '']);
    const summary = await summaryOf(folder);
    expect(summary.best?.assignment).toEqual({ max_num_seqs: 8 });
    expect(summary.gain?.ratio).toBeGreaterThan(1.2);
    // Of four texts in each request.
    expect(run.stdout).toMatch(/best .*\n +[\d.,]+ infer\/s/);
    expect(run.stdout).toMatch(
      /baseline for CI: .* profile -m talk --endpoint rerank .*-b 4 --input-tokens 16 --prompts 40 /,
    );
  });
});
