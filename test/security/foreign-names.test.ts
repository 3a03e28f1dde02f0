import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type EmulatorProfile, emulatorSchema } from '#emulator/profile/schema.ts';
import { callCli } from '../support/call-cli.ts';
import { emulatorForTest, everyKindProfile } from '../support/emulator.ts';
import { sourcesIn } from '../support/import-graph.ts';
import { freshDirectory, summaryOf } from '../support/run-directory.ts';

/** Properties that every object inherits. */
const NAMES = ['constructor', 'toString', '__proto__', 'hasOwnProperty', 'valueOf'] as const;

/** The profile with other names of models, and of their tensors. */
function renamed(profile: EmulatorProfile, names: Readonly<Record<string, string>>): EmulatorProfile {
  const text = JSON.stringify(profile);
  const all = Object.entries(names).reduce(
    (left, [from, to]) => left.replaceAll(`"${from}"`, JSON.stringify(to)),
    text,
  );
  return emulatorSchema.parse(JSON.parse(all));
}

const quick = ['--max-trials', '2', '--precision', '50', '--time-budget', '2s', '--concurrency', '1:2'];

async function tune(profile: EmulatorProfile, args: readonly string[]) {
  const emulator = await emulatorForTest({ profile });
  const output = join(await freshDirectory(), 'run');
  const at = ['-u', emulator.grpcUrl, '--metrics-url', emulator.metricsUrl];
  const { code, stderr } = await callCli(['tune', ...args, ...at, ...quick, '-o', output]);
  expect(stderr).not.toContain('INTERNAL');
  expect(code).toBe(0);
  return { output, summary: await summaryOf(output), report: await callCli(['report', output]) };
}

describe('models with names that every object has', { timeout: 120_000 }, () => {
  it.each(NAMES)('%s is tuned, also with tensors of that name', async (name) => {
    const { summary, report } = await tune(renamed(everyKindProfile(), { m: name, IN: name, OUT: `${name}_` }), [
      '-m',
      name,
    ]);
    expect(summary.model).toBe(name);
    expect(report).toMatchObject({ code: 0 });
  });

  it('are tuned together, with shares and budgets', async () => {
    const [m] = everyKindProfile().models;
    const named = (name: string) => ({ ...m, config: { ...m?.config, name } });
    const { models: _, ensembles: __, ...rest } = everyKindProfile();
    const profile = emulatorSchema.parse({ ...rest, models: [named('constructor'), named('valueOf')] });
    const goal = ['--mix', 'constructor=3,valueOf=1', '--latency-budget', 'constructor=4000,valueOf=6000'];
    const { summary, output, report } = await tune(profile, ['--together', 'constructor,valueOf', ...goal]);
    expect(summary.constraints.map(({ metric }) => metric)).toEqual(['latency@constructor', 'latency@valueOf']);
    expect(report).toMatchObject({ code: 0 });
    expect(await readFile(join(output, 'results.csv'), 'utf8')).toContain('throughput_infer_per_s@valueOf');
  });

  it('are the stages of an ensemble', async () => {
    const profile = renamed(everyKindProfile(), { chain: 'toString', m: '__proto__', second: 'constructor' });
    const { summary, report } = await tune(profile, ['-m', 'toString']);
    expect(summary.model).toBe('toString');
    expect(report).toMatchObject({ code: 0 });
  });
});

describe('code', () => {
  // The rooms of queues number their models.
  it('looks models up with `lookUp`, or in a Map', () => {
    const src = join(import.meta.dirname, '../../src');
    const indexed = /[\w)\]]\??\.?\[(?:\w+\.)?(?:model|stage|front|modelName)\](?!\s*:)/;
    const found = sourcesIn(src).flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .flatMap((line, index) => (indexed.test(line) ? [`${relative(src, file)}:${index + 1}: ${line.trim()}`] : [])),
    );
    expect(found.filter((each) => !/^(?:benchmark|emulator|queueing|study\/search\/queueing)\//.test(each))).toEqual(
      [],
    );
  });
});
