import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { shellLine } from '#base/shell-words.ts';
import { runCli } from '../support/cli.ts';
import { freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

const script = resolve(import.meta.dirname, '../support/batching-service.ts');
const launch = `${shellLine([process.execPath, script])} --port {port} --workers {workers} --batch {batch} --wait {wait}`;
let folder: string;
let tune: readonly string[];

beforeAll(async () => {
  folder = await freshDirectory();
  await writeFile(join(folder, 'space.yaml'), 'parameters: { workers: [1, 2], batch: [1, 16], wait: [0] }\n');
  await writeFile(join(folder, 'bodies.jsonl'), '{"x":1}\n{"x":2}\n');
  tune = [
    ...['tune', '--service-kind', 'http', '--space', join(folder, 'space.yaml'), '--latency-budget', '500'],
    ...['--concurrency', '8:8', '--precision', '30', '--sampler', 'grid', '--ui', 'lines'],
  ];
});

const started = (): readonly string[] => [
  ...tune,
  ...['--launch-command', launch, '--original', 'workers=1,batch=1,wait=0'],
];

describe('tune of a plain HTTP service', { timeout: 240_000 }, () => {
  it('starts it for each candidate, sends bodies in turn, and hands over the command of the best', async () => {
    const output = await freshDirectory();
    const run = await runCli([
      ...started(),
      ...['--path', '/inference', '--bodies-file', join(folder, 'bodies.jsonl'), '-o', output],
      ...['--prices', resolve('examples/prices.yaml'), '--instance-type', 'cpu-16', '--for-rate', '300'],
    ]);
    expect([run.code, run.stderr]).toEqual([0, '']);
    expect(run.stdout).toMatch(/^original +[\d,.]+ requests\/s \(95 %/m);
    expect(run.stdout).not.toContain('infer/s');
    expect(run.stdout).toMatch(/ for 300 requests\/s: .* for a million requests/);
    const report = await readFile(join(output, 'report.html'), 'utf8');
    expect(report).toContain('<th>requests/s per replica</th>');
    expect(report).not.toContain('infer/s');
    const summary = await summaryOf(output);
    expect(summary.best).toMatchObject({ rateUnit: 'requests/s' });
    expect(summary.best?.assignment).toMatchObject({ batch: 16 });
    expect(summary.gain?.ratio).toBeGreaterThan(1.3);
    const best = summary.best?.assignment as Record<string, number>;
    expect(await readFile(join(output, 'best', 'launch.sh'), 'utf8')).toContain(
      `--port "$PORT" --workers ${best.workers} --batch 16 --wait 0`,
    );
    expect(run.stdout).toMatch(/profile --service-kind http -u http:\/\/localhost:8000\/inference --bodies-file /);
    const [first] = await recordsOf(output);
    expect(first).toMatchObject({ type: 'study-started', spec: { http: { path: '/inference' } } });
  });

  it('does not take refusals for replies', async () => {
    const output = await freshDirectory();
    const run = await runCli([...started(), '--path', '/elsewhere', '--body', '{"x":1}', '-o', output]);
    expect(run.code).not.toBe(0);
    expect(run.stderr + run.stdout).toContain('the reply had the status 404');
  });

  it.each([
    [['--launch-command', launch], /\{workers\}, whose value before the study is not known.*--original workers=VALUE/],
    [['-u', 'localhost:1'], /settings of the running server at localhost:1 cannot be changed.*--launch-command/],
    [['--launch-command', 'a {port}', '--goodput', 'ttft<=1s'], /limits ttft/],
  ])('refuses %j', async (args, message) => {
    const run = await runCli([...tune, ...args, '-o', await freshDirectory()]);
    expect(run.code).toBe(2);
    expect(run.stderr).toMatch(message);
  });
});
