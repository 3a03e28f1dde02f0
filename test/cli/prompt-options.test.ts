import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { describe, expect, it } from 'vitest';
import { preparePrompts } from '#app/traffic/prompts.ts';
import { addPromptAliases } from '#cli/commands/profile/prompt-aliases.ts';
import { promptOptionTable } from '#cli/commands/profile/prompt-options.ts';
import { filledBy } from '#cli/options/filled-rows.ts';
import { addOptions } from '#cli/options/option-table.ts';
import { profileOptions } from '#spec/profile-spec.ts';
import { promptSpec } from '#workload/prompt-spec.ts';

/** What a command line asks for, the spellings of others included. */
function parse(line: string) {
  const command = new Command('profile').exitOverride().configureOutput({ writeErr: () => undefined });
  const { resolve } = addPromptAliases(command);
  addOptions(command, filledBy(profileOptions, promptOptionTable)).parse(line.split(' ').filter(Boolean), {
    from: 'user',
  });
  const own = Object.keys(promptOptionTable).map((name) => [name, command.getOptionValue(name)] as const);
  return { ...resolve(), ...Object.fromEntries(own.filter(([, value]) => value !== undefined)) };
}

describe('the options of prompts', () => {
  it.each([
    ['--input-tokens 512', { inputTokens: { kind: 'constant', value: 512 } }],
    ['--input-tokens 100:900', { inputTokens: { kind: 'uniform', low: 100, high: 900 } }],
    ['--output-tokens normal:128,16', { outputTokens: { kind: 'normal', mean: 128, std: 16 } }],
    ['--turns log-normal:4,2,1,', { turns: { kind: 'log-normal', mean: 4, std: 2, min: 1 } }],
    [
      '--think-time-ms lognormal:400,200,,2000',
      { thinkTimeMs: { kind: 'log-normal', mean: 400, std: 200, max: 2000 } },
    ],
    ['--trace-slice 0:600', { traceSlice: { fromS: 0, toS: 600 } }],
    ['--ignore-eos', { ignoreEos: true }],
    ['--ignore-eos no', { ignoreEos: false }],
    ['--prompt-file a.jsonl --sessions --prompts 5', { promptFile: 'a.jsonl', sessions: true, prompts: 5 }],
  ])('%s', (line, spec) => {
    expect(parse(line)).toEqual(spec);
    expect(promptSpec.parse(spec)).toEqual(spec);
  });

  it.each([
    '--input-tokens many',
    '--input-tokens 9:1',
    '--input-tokens -5',
    '--input-tokens normal:0,1',
    '--input-tokens normal:5',
    '--input-tokens normal:5,1,9,2',
    '--input-tokens normal:5,1,x',
    '--trace-slice 5:5',
    '--ignore-eos perhaps',
    '--prompts 0',
  ])('refuse %s', (line) => {
    expect(() => parse(line)).toThrow();
  });
});

describe('the spellings of other tools', () => {
  it.each([
    [
      'AIPerf',
      '--synthetic-input-tokens-mean 550 --synthetic-input-tokens-stddev 50 --output-tokens-mean 100 --num-prompts 200',
      {
        inputTokens: { kind: 'normal', mean: 550, std: 50 },
        outputTokens: { kind: 'constant', value: 100 },
        prompts: 200,
      },
    ],
    [
      'AIPerf, short',
      '--isl 1000 --isl-stddev 0 --osl 50 --num-prefix-prompts 4 --prefix-prompt-length 64',
      {
        inputTokens: { kind: 'constant', value: 1000 },
        outputTokens: { kind: 'constant', value: 50 },
        prefixPrompts: 4,
        prefixTokens: 64,
      },
    ],
    [
      'AIPerf, sessions',
      '--session-turns-mean 3 --session-turns-stddev 1 --session-turn-delay-mean 500',
      { turns: { kind: 'normal', mean: 3, std: 1 }, thinkTimeMs: { kind: 'constant', value: 500 } },
    ],
    [
      'AIPerf, trace',
      '--input-file t.jsonl --custom-dataset-type mooncake_trace --fixed-schedule-end-offset 60000',
      { promptFile: 't.jsonl', traceSlice: { fromS: 0, toS: 60 } },
    ],
    [
      'vLLM',
      '--dataset-name random --random-input-len 1024 --random-output-len 128 --random-range-ratio 0.5 --random-prefix-len 0',
      { inputTokens: { kind: 'uniform', low: 512, high: 1536 }, outputTokens: { kind: 'uniform', low: 64, high: 192 } },
    ],
    [
      'vLLM, a file',
      '--dataset-name sharegpt --dataset-path s.json --sharegpt-output-len 64',
      { promptFile: 's.json', outputTokens: { kind: 'constant', value: 64 } },
    ],
  ])('of %s mean the same', (_, line, spec) => {
    expect(parse(line)).toEqual(spec);
  });

  it('give way to ours', () => {
    expect(parse('--isl 5 --input-tokens 7')).toEqual({ inputTokens: { kind: 'constant', value: 7 } });
  });

  it('that are not offered say why', () => {
    expect(() => parse('--public-dataset sharegpt')).toThrow('--public-dataset is not supported: nothing is fetched');
    expect(() => parse('--isl many')).toThrow("--isl is not a number: 'many'");
  });
});

describe('prompts of options', () => {
  const setting = { model: 'llama', seed: 3 };

  it('are 1000 made-up ones if nothing else is said, and say what they are', async () => {
    const { requests, schedule, countedBy, notes } = await preparePrompts({}, setting);
    expect(requests).toMatchObject({ model: 'llama', batch: 1 });
    expect(requests.requests).toHaveLength(1000);
    expect(requests.requests[0]).toMatchObject({
      inputs: [],
      prompt: { inputTokens: 512, maxTokens: 128, ignoresEnd: true },
    });
    expect([requests.holdsConversations, schedule, countedBy]).toEqual([undefined, null, 'estimate']);
    expect(notes).toEqual([
      '1000 made-up prompts, 512 tokens in, 128 out, seed 3',
      '1000 requests of 512 tokens in and 128 out on average, counted by an estimate (--tokenizer counts exactly)',
    ]);
  });

  it('of a trace have a schedule, as fast as was asked', async () => {
    const path = join(await mkdtemp(join(tmpdir(), 'trace-')), 'trace.jsonl');
    const rows = [0, 500, 2000].map((timestamp) => ({ timestamp, input_length: 8, output_length: 2 }));
    await writeFile(path, rows.map((row) => JSON.stringify(row)).join('\n'));
    const { schedule } = await preparePrompts({ promptFile: path }, { ...setting, traceSpeed: 4 });
    expect(schedule).toEqual({
      schedule: { kind: 'replay', arrivalsNs: [0, 5e8, 2e9], speed: 4 },
      perSecond: 6,
      requests: 3,
    });
  });

  it('of several turns are conversations', async () => {
    const spec = { turns: { kind: 'constant', value: 3 }, prompts: 4 } as const;
    const { requests } = await preparePrompts(spec, setting);
    expect(requests).toMatchObject({ streamLengths: [3, 3, 3, 3], holdsConversations: true });
  });

  it.each([
    [{ traceSlice: { fromS: 0, toS: 1 } }, '--trace-slice needs a trace'],
    [{ prefixPrompts: 2 }, '--prefix-prompts needs a prefix length'],
    [{ sessions: true }, 'need a number of turns'],
    [
      { promptFile: 'x', inputTokens: { kind: 'constant', value: 1 } },
      '--input-tokens cannot be used with --prompt-file',
    ],
    [{ promptFile: 'x', thinkTimeMs: { kind: 'constant', value: 1 } }, '--think-time-ms needs conversations'],
  ] as const)('refuse what contradicts itself: %j', async (spec, message) => {
    await expect(preparePrompts(spec, setting)).rejects.toThrow(message);
  });
});
