import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runCli } from '../support/cli.ts';
import { freshDirectory } from '../support/run-directory.ts';

const around = (value: number) => ({ value, low: value * 0.98, high: value * 1.02 });

/** What `profile --json` writes of three levels of a server that is so many times as fast. */
const profile = (factor: number): string =>
  JSON.stringify({
    schemaVersion: 1,
    model: 'm',
    server: { emulated: null },
    levels: [8, 16, 24].map((value) => ({
      level: { mode: 'concurrency', value },
      throughput: around(1000 * factor),
      budgetLatencyMs: { percentile: 99, ...around(value / factor) },
      stable: true,
      client: { bound: false },
    })),
  });

it('compares one run with one baseline, and repeated runs with repeated baselines', async () => {
  const cwd = await freshDirectory();
  for (const [name, factor] of Object.entries({ base: 1, base2: 0.93, base3: 0.98, run: 0.92, run2: 1, run3: 0.94 })) {
    await writeFile(join(cwd, `${name}.json`), profile(factor));
  }
  const single = await runCli(['compare', 'base.json', 'run.json', '--json', 'gate.json'], { cwd });
  expect(single).toMatchObject({ code: 5, stderr: '' });
  expect(single.stdout).toMatch(
    /^all 3 levels together \(geometric mean\), throughput: 1,000 infer\/s → 920 infer\/s, -8\.0 % .*: REGRESSION$/m,
  );
  expect(JSON.parse(await readFile(join(cwd, 'gate.json'), 'utf8'))).toMatchObject({ isRegression: true });

  const others = ['--baseline', 'base2.json', '--baseline', 'base3.json'];
  const several = await runCli(['compare', 'base.json', 'run.json', 'run2.json', 'run3.json', ...others], { cwd });
  expect(several).toMatchObject({ code: 6, stderr: '' });
  expect(several.stdout).toMatch(/^concurrency 8, p99 latency: .* to \+22\.\d %\): inconclusive$/m);
  expect(several.stdout).toMatch(
    /^inconclusive: none of 8 metrics is precise enough to rule out a regression of 10 % .*\nfor a verdict on 10 %, measure about 2 times as long \(a smaller --precision\), or compare 2 times as many runs/m,
  );

  // A quarter more is not ruled out at one level, but it is for all of them.
  const files = ['base.json', 'run.json', 'run2.json', 'run3.json', ...others];
  const coarse = await runCli(['compare', ...files, '--must-see', '20'], { cwd });
  expect(coarse).toMatchObject({ code: 0, stderr: '' });
  expect(coarse.stdout).toMatch(/^all 3 levels together \(geometric mean\), p99 latency: .*: passed$/m);
  expect(coarse.stdout).toMatch(
    /^concurrency 8, p99 latency: .*: inconclusive at this level alone, see all levels together$/m,
  );
  expect(coarse.stdout).toMatch(/^passed: no regression in 5 of 8 metrics, 3 inconclusive \(.*; it would have seen/m);
});

it('exits with 6 where it cannot tell, unless it is told to fail or to pass', async () => {
  const cwd = await freshDirectory();
  const vague = profile(1).replaceAll(/"(low|high)":([\d.]+)/g, (_, side: string, value: string) => {
    return `"${side}":${Number(value) * (side === 'low' ? 0.7 : 1.3)}`;
  });
  for (const name of ['base', 'run']) await writeFile(join(cwd, `${name}.json`), vague);
  const codes: (number | null)[] = [];
  for (const how of [[], ['--fail-if-unsure'], ['--pass-if-unsure'], ['--must-see', '80']]) {
    const { code, stdout } = await runCli(['compare', 'base.json', 'run.json', ...how], { cwd });
    codes.push(code);
    expect(stdout).toContain(code === 0 && how.length === 2 ? 'passed: ' : 'inconclusive: none of 8 metrics');
  }
  expect(codes).toEqual([6, 5, 0, 0]);
  const both = ['--fail-if-unsure', '--pass-if-unsure'];
  expect(await runCli(['compare', 'base.json', 'run.json', ...both], { cwd })).toMatchObject({ code: 2 });
});

it('refuses to compare a run of tune with one of profile', async () => {
  const cwd = await freshDirectory();
  await writeFile(join(cwd, 'base.json'), profile(1));
  const tuned = { schemaVersion: 1, model: 'm', emulated: null, budget: null, feasible: false, best: null };
  await writeFile(join(cwd, 'run.json'), JSON.stringify(tuned));
  const outcome = await runCli(['compare', 'base.json', 'run.json'], { cwd });
  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(outcome.stderr).toContain('base.json is a profile document, and run.json a tune document');
});

it('says where the time went, also of tables, on which it gives no verdict', async () => {
  const directory = await freshDirectory();
  const table = (rate: number, compute: number, p50: number): string =>
    [
      'Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute,Client Recv,p50 latency',
      `2,${2 * rate},70,900,1000,${compute},40,${p50 + 1000}`,
      `1,${rate},70,800,30,${compute},40,${p50}`,
    ].join('\n');
  const [old, now] = [join(directory, 'onnx.csv'), join(directory, 'trt.csv')];
  await writeFile(old, table(69.6, 13400, 14300));
  await writeFile(now, table(124, 5600, 6500));
  const outcome = await runCli(['compare', old, now]);
  expect(outcome).toMatchObject({ code: 6, stderr: '' });
  expect(outcome.stdout.split('\n')).toEqual([
    'time at concurrency 1: throughput 69.6 → 124 infer/s (+78 %), p50 14.3 → 6.5 ms (-55 %), mean latency 14.3 → 6.54 ms (-54 %), queue 0.03 → 0.03 ms (+0 %), compute infer 13.4 → 5.6 ms (-58 %), network and client 0.91 → 0.91 ms (+0 %)',
    expect.stringMatching(/^time at concurrency 2: .*queue 1 → 1 ms \(\+0 %\)/),
    'inconclusive: these tables state no intervals (99 % confidence, 2 % tolerance)',
    'for a verdict, compare files of tritune profile --json',
    '',
  ]);
  const json = join(directory, 'base.json');
  await writeFile(json, profile(1));
  expect((await runCli(['compare', old, json])).stderr).toContain('onnx.csv is a table document');
  const noTable = join(directory, 'notes.txt');
  await writeFile(noTable, 'no table');
  expect(await runCli(['compare', noTable, noTable])).toMatchObject({ code: 2 });
});
