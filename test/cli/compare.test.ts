import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { freshDirectory, runCli } from '../support/cli.ts';

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
    /^all 3 levels together, throughput: 1,000 infer\/s → 920 infer\/s, -8\.0 % .*: REGRESSION$/m,
  );
  expect(JSON.parse(await readFile(join(cwd, 'gate.json'), 'utf8'))).toMatchObject({ isRegression: true });

  const others = ['--baseline', 'base2.json', '--baseline', 'base3.json'];
  const several = await runCli(['compare', 'base.json', 'run.json', 'run2.json', 'run3.json', ...others], { cwd });
  expect(several).toMatchObject({ code: 0, stderr: '' });
  // A fifth more is not ruled out at one level, but it is for all of them.
  expect(several.stdout).toMatch(/^all 3 levels together, p99 latency: .*: no difference$/m);
  expect(several.stdout).toMatch(
    /^concurrency 8, p99 latency: .* to \+22\.\d %\): too unsure at this level alone, see all levels together$/m,
  );
  expect(several.stdout).toMatch(
    /no regression in 8 figures, 3 of them too unsure to tell \(.*; \d+ % less throughput at all levels would have been seen/,
  );
});

it('refuses to compare a run of tune with one of profile', async () => {
  const cwd = await freshDirectory();
  await writeFile(join(cwd, 'base.json'), profile(1));
  const tuned = { schemaVersion: 1, model: 'm', emulated: null, budget: null, feasible: false, best: null };
  await writeFile(join(cwd, 'run.json'), JSON.stringify(tuned));
  const outcome = await runCli(['compare', 'base.json', 'run.json'], { cwd });
  expect(outcome).toMatchObject({ code: 2, stdout: '' });
  expect(outcome.stderr).toContain('base.json is of a profile run, and run.json of a tune run');
});
