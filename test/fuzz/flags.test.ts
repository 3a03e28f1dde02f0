import { Command, CommanderError } from 'commander';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { planProfile } from '#app/profile/plan.ts';
import { readHeaders } from '#app/server/headers.ts';
import { chooseLevels, toGoal } from '#app/study/goal.ts';
import { isTrituneError } from '#base/errors.ts';
import { profileOptionTable } from '#cli/commands/profile/any-service.ts';
import type { ProfileOptions } from '#cli/commands/profile/options.ts';
import { addRefusedOptions, withoutAliases } from '#cli/commands/profile/perf-analyzer-aliases.ts';
import { seriesOptionTable } from '#cli/commands/tune/series-options.ts';
import { addOptions, type OptionTable } from '#cli/options/option-table.ts';
import { prepareInputs } from '#loadgen/inputs.ts';
import { modelsIn, type SeriesOptions } from '#spec/series-fields.ts';
import { optionsFor } from '#spec/series-options.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import { recordOptionTable } from '../../lab/commands/record-options.ts';
import { modelOf } from '../loadgen/input-files.ts';
import { FUZZ_TIMEOUT_MS, fuzz, fuzzAsync, hostileNames, refusedOr, refusedOrAsync } from '../support/fuzz.ts';

/**
 * Parses command lines of these options; what it gives is undefined where they are refused in
 * words.
 */
function parserOf<O extends object>(table: OptionTable<O>, alike = false): (args: readonly string[]) => O | undefined {
  const silent = { writeErr: () => undefined, writeOut: () => undefined };
  const command = addOptions(new Command().exitOverride().configureOutput(silent), table);
  const refuse = alike ? addRefusedOptions(command).refuse : () => undefined;
  return (args) => {
    try {
      command.parse([...args], { from: 'user' });
      refuse();
      return command.opts<O>();
    } catch (error) {
      if (!(error instanceof CommanderError) && !isTrituneError(error, 'UNSUPPORTED')) throw error;
      expect(error.message).not.toBe('');
      return undefined;
    }
  };
}

const profileOptions = parserOf<ProfileOptions>(profileOptionTable, true);
const tuneOptions = parserOf(seriesOptionTable);
const recordOptions = parserOf(recordOptionTable);

const values = [
  ...['1', '2', '8', '0.5', '0', '-1', '1e9', '1e999', '9007199254740993', '99999999999999999999', 'NaN', '٣', '', ' '],
  ...[
    '1:4',
    '4:1',
    '1:16:2',
    '1:0:1',
    '10:200:3',
    '0:0:5',
    '9:9:99999999999999',
    `${'9'.repeat(400)}:1`,
    ':',
    '1:2:3:4',
  ],
  ...[
    'a:1,2',
    'IN:999999999,999999999,999999999',
    'p:1:int',
    'p:x:bool',
    'p:1e999:double',
    'k=v',
    'm=5',
    'latency-p99<=5ms',
  ],
  ...[
    '10m',
    '90s',
    '1e9h',
    '999999999999h',
    '500ms',
    'p99',
    '99.999',
    'throughput:2',
    'x<=1',
    'a>=b',
    'grpc',
    'gRPC',
    'json',
  ],
  ...[
    'localhost:8001',
    'http://a:0',
    '[::1]:1',
    'a:99999',
    'https://x',
    'gzip',
    'zero',
    'random',
    'X-A: b',
    'x: \r\ny',
  ],
  ...['50:200', '1.2.3:1:1', '1,2,4', '1,,2', `${'1,'.repeat(2000)}1`, '=', '--', '-', '@/nowhere', 'file:/nowhere'],
  ...hostileNames.filter((name) => !name.includes('\0')),
];

/**
 * Command lines of these options: each with a value, without one, joined by `=`, or with other
 * words between.
 */
function commandLines(table: object): fc.Arbitrary<string[]> {
  const flags = Object.values(table as Record<string, { readonly flags: string }>).flatMap(({ flags }) =>
    [...flags.matchAll(/(?<!\S)--?[\w-]+/g)].map(([flag]) => flag),
  );
  const value = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom(...values) },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme', maxLength: 6 }) },
  );
  const flag = fc.constantFrom(...flags, '--__proto__', '--constructor', '--no-launch');
  const words = fc.oneof(
    { weight: 8, arbitrary: fc.tuple(flag, value) },
    { weight: 2, arbitrary: fc.tuple(flag, value).map(([name, text]) => [`${name}=${text}`]) },
    { weight: 1, arbitrary: fc.oneof(flag, value).map((word) => [word]) },
  );
  return fc.array(words, { maxLength: 4 }).map((parts) => parts.flat());
}

describe('options that are bad', () => {
  it("of perf_analyzer's and ours are refused, or a plan", { timeout: FUZZ_TIMEOUT_MS }, async () => {
    await fuzzAsync(commandLines(profileOptionTable), async (args) => {
      const given = profileOptions(args);
      const options = given && refusedOr(() => withoutAliases(given), 'USAGE');
      const plan = options && (await refusedOrAsync(() => planProfile(options, true), 'USAGE', 'INPUT_INVALID'));
      if (!plan) return;
      const { start, end, step } = plan.sweep.range;
      expect([start, end, step].every(Number.isFinite)).toBe(true);
    });
  });

  it('of a tuning run are refused, or a goal with its levels', { timeout: FUZZ_TIMEOUT_MS }, () => {
    fuzz(commandLines(seriesOptionTable), (args) => {
      const options = tuneOptions(args) as SeriesOptions | undefined;
      const models = options && refusedOr(() => modelsIn(options), 'USAGE');
      for (const model of models ?? []) {
        const own = refusedOr(() => optionsFor(options as SeriesOptions, model), 'USAGE');
        const spec = own && refusedOr(() => toSpec(own), 'USAGE');
        if (!spec) continue;
        refusedOr(() => toGoal(spec), 'USAGE', 'INPUT_INVALID');
        refusedOr(() => readHeaders(spec.server), 'USAGE', 'INPUT_INVALID');
        const levels = refusedOr(() => chooseLevels(spec), 'USAGE');
        if (levels) expect(levels.low).toBeLessThanOrEqual(levels.high);
      }
    });
  });

  it('of a recording are refused, or read', { timeout: FUZZ_TIMEOUT_MS }, () => {
    fuzz(commandLines(recordOptionTable), (args) => void recordOptions(args));
  });

  it('about a request that no memory holds are refused', () => {
    const { metadata, config } = modelOf({ maxBatchSize: 0, inputs: { A: ['BYTES', [-1]], B: ['INT8', [-1]] } });
    const prepare = (args: readonly string[]) => () => {
      const { shape, stringLength } = profileOptions(args) as ProfileOptions;
      return prepareInputs(metadata, config, {
        batch: 1,
        kind: 'random',
        seed: 1,
        ...(shape && { shapes: shape }),
        ...(stringLength !== undefined && { stringLength }),
      });
    };
    for (const args of [
      ['--string-length', '9007199254740991'],
      ['--string-length', '3000000000'],
      ['--shape', 'B:999999999,999999999'],
      ['--shape', 'A:100000000', '--string-length', '100'],
    ]) {
      expect(() => refusedOr(prepare(args), 'INPUT_INVALID')).not.toThrow();
      expect(refusedOr(prepare(args), 'INPUT_INVALID')).toBeUndefined();
    }
  });

  it('about headers look nowhere but in the environment', () => {
    for (const name of ['__proto__', 'constructor', 'toString']) {
      for (const flags of [{ tokenEnv: name }, { headerEnv: [`x:${name}`] }]) {
        expect(() => readHeaders(flags)).toThrow(expect.objectContaining({ code: 'USAGE' }));
      }
    }
    expect(() => readHeaders({ header: [`x:${' '.repeat(1_000_000)}é`] })).toThrow(/ASCII/);
  });

  it('about time are refused when no timer counts so far', () => {
    for (const args of [
      ['--request-timeout', '9999h'],
      ['-p', '9007199254740991'],
      ['--ramp', '999999999:1:999999999'],
      ['--periodic-burst', `${'9'.repeat(400)}:1`],
    ]) {
      expect(profileOptions(args)).toBeUndefined();
    }
  });
});
