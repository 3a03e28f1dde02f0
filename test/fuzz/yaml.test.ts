import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCandidates } from '../../src/app/study/read-candidates.ts';
import type { ErrorCode } from '../../src/base/errors.ts';
import { readYaml, YamlFault } from '../../src/base/yaml.ts';
import { readAnalyzerFile } from '../../src/cli/model-analyzer/read-file.ts';
import { translate } from '../../src/cli/model-analyzer/translate.ts';
import { parseProfile } from '../../src/emulator/profile/profiles.ts';
import { originalOf } from '../../src/space/model-configs.ts';
import { compileSpace } from '../../src/space/source/compile.ts';
import { inherit } from '../../src/space/source/inherit.ts';
import { spaceFromJson, spaceToJson } from '../../src/space/source/load.ts';
import { readSource } from '../../src/space/source/source.ts';
import type { SearchSpace } from '../../src/space/types.ts';
import { viewSpace } from '../../src/study/search/samplers/space-view.ts';
import { originalConfig } from '../study/builders.ts';
import { damagedText, FUZZ_TIMEOUT_MS, fuzz, hostileJson, nested, refusedOr } from '../support/fuzz.ts';

const scratch = join(mkdtempSync(join(tmpdir(), 'tritune-fuzz-')), 'file.yaml');
const inFile = <T>(text: string, read: (file: string) => T): T => {
  writeFileSync(scratch, text);
  return read(scratch);
};

const base = spaceFromJson({
  name: 'small',
  parameters: { max_batch_size: [1, 4, 8], instances: [1, 2], 'parameters.threads': ['1', '2'] },
});
const view = viewSpace(base, originalOf(originalConfig));

/** A reader of YAML, a few short files for it, and words that mean something to it. */
interface Reader {
  readonly name: string;
  readonly code: ErrorCode;
  readonly also: readonly ErrorCode[];
  read(text: string): unknown;
  /** What was read, looked at as its user would. */
  readonly look?: (value: never) => void;
  readonly documents: readonly string[];
  readonly words: readonly string[];
}

const readers: readonly Reader[] = [
  {
    name: 'a search space',
    code: 'SPACE_INVALID',
    also: [],
    read: (text) => compileSpace(inherit([readSource('my.yaml', text)])),
    look: (space: SearchSpace) => {
      const again = spaceFromJson(spaceToJson(space));
      expect(spaceToJson(again)).toEqual(spaceToJson(space));
      for (const assignment of viewSpace(space, originalOf(originalConfig)).assignments()) {
        viewSpace(space, originalOf(originalConfig)).build(assignment);
        break;
      }
    },
    documents: [
      'parameters:\n  instances: { range: [1, 4] }\n  max_batch_size: { powers: [1, 128] }\nlimits: { cores: 4 }\n',
      'parameters:\n  queue_delay_us:\n    values: [0, 100]\n    when: { max_batch_size: { above: 1 } }\n  max_batch_size: [1, 8]\n',
      'rules:\n  - { require: "instances * 2 <= limits.cores", message: no }\nlimits: { cores: null }\nparameters: { instances: [1] }\n',
      'parameters:\n  x:\n    choices: { a: { optimization.cuda.graphs: on }, b: { max_batch_size: 4 } }\n',
      'parameters:\n  x:\n    path: parameters.threads\n    cases:\n      - { when: { device: cpu }, values: [1, 2] }\n      - { range: [0.5, 2], step: 0.5 }\n',
    ],
    words: [
      ...['instances', 'max_batch_size', 'values', 'range', 'powers', 'choices', 'cases', 'when', 'any', 'not', 'drop'],
      ...['path', 'limits', 'rules', 'require', 'device', 'base.max_batch_size', '[1e300, 1]', '[-1e308, 1e308]'],
    ],
  },
  {
    name: 'an emulator profile',
    code: 'PROFILE_INVALID',
    also: [],
    read: (text) => parseProfile(text, 'my.yaml'),
    documents: [
      `name: s
description: d
source: t
device: { kind: cpu, name: c, memory_mib: 99 }
models:
  - config: { name: m, backend: python, max_batch_size: 8, input: [{ name: I, data_type: TYPE_FP32, dims: [4] }], output: [{ name: O, data_type: TYPE_FP32, dims: [4] }] }
    law: { execution_ms: [[1, 2.5], [8, 3]], cv: 0.1, interference: { per_instance: 0.1 } }
    arms: [{ name: a, when: { dynamic_batching: null }, scale: 2 }]
    load: { full_s: 0.1, add_s: 0, remove_s: 0 }
`,
    ],
    words: ['law', 'config', 'arms', 'when', 'faults: { load: [{ what: hang }] }', 'ensembles', 'drift', '[[1, 1]]'],
  },
  {
    name: "a file of Model Analyzer's",
    code: 'INPUT_INVALID',
    also: ['UNSUPPORTED'],
    read: (text) =>
      inFile(text, (file) =>
        translate(readAnalyzerFile(file), { protocol: undefined, percentile: undefined, models: undefined }),
      ),
    documents: [
      'profile_models: [a, b]\nconcurrency: 1,2,4\nbatch_sizes: { start: 1, stop: 8 }\nlatency_budget: 5\n',
      'profile_models:\n  net:\n    model_config_parameters: { max_batch_size: [1, 4], instance_group: [{ kind: KIND_CPU, count: [1, 2] }] }\n    parameters: { concurrency: [1, 8] }\n',
      'profile_models: net\nperf_analyzer_flags: { percentile: 95, shape: [a:1], input-data: zero, streaming: true }\nclient_protocol: http\n',
      'profile_models: {net: {objectives: [perf_throughput], constraints: {perf_latency_p99: {max: 20}}}}\nrun_config_search_mode: quick\nrun_config_search_max_instance_count: 3\n',
    ],
    words: [
      ...['profile_models', 'concurrency', 'request_rate', 'parameters', 'objectives', 'constraints', 'max', 'min'],
      ...['run_config_search_max_instance_count: 9007199254740991', 'run_config_search_max_model_batch_size: 1e15'],
      ...['ssl-https-verify-peer: 0', 'sequence-id-range: 1:2', 'perf_analyzer_flags', '&a', '*a', '<<: *a'],
    ],
  },
  {
    name: 'a list of candidates',
    code: 'INPUT_INVALID',
    also: [],
    read: (text) => inFile(text, (file) => readCandidates(file, view)),
    documents: [
      '- { max_batch_size: 4, instances: 2 }\n- { parameters.threads: "2" }\n- {}\n',
      '[{"max_batch_size": 8, "instances": 1}, {"instances": 2}]',
    ],
    words: ['max_batch_size', 'instances', '{}', '[]', '- {instances: 1}\n'],
  },
];

const yamlWords = [
  ...[': ', '- ', '{', '}', '[', ']', ', ', '"', "'", '|', '>', '#', '? ', '---\n', '...\n', '%YAML 1.1\n---\n', '\t'],
  ...['&a ', '*a', '!!js/function ', '!foo ', '!!set ', '!!binary ', '!!omap ', '!!timestamp ', '!<x> ', '<<: ', '@'],
  ...['__proto__: {polluted: 1}', 'constructor: {prototype: {polluted: 1}}', '2001-01-01', '.inf', '.nan', '1:30', '~'],
];

const bomb = Array.from({ length: 12 }, (_, index) =>
  index === 0 ? 'a0: &a0 [x, x, x, x, x, x]' : `a${index}: &a${index} [${`*a${index - 1}, `.repeat(6)}]`,
).join('\n');

describe.each(readers)('$name that is bad', ({ code, also, read, look, documents, words }) => {
  const checked = (text: string): void => {
    const value = refusedOr(() => read(text), code, ...also);
    if (value !== undefined) (look as ((value: unknown) => void) | undefined)?.(value);
  };

  it('by damage is refused with a code, or read', { timeout: FUZZ_TIMEOUT_MS }, () => {
    fuzz(damagedText(documents, [...words, ...yamlWords]), checked);
  });

  it('of other shapes is too', { timeout: FUZZ_TIMEOUT_MS }, () => {
    fuzz(hostileJson(words.filter((word) => /^[\w.]+$/.test(word)).concat('name', 'values')), checked, 0.25);
  });

  it.each([
    ['nested deeper than a stack', nested('[', '', ']', 20_000)],
    ['nested deeper than a stack in maps', nested('{a: ', '1', '}', 10_000)],
    ['nested in blocks', `${'- '.repeat(10_000)}x`],
    ['nested without an end', '['.repeat(20_000)],
    ['a bomb of aliases', bomb],
    ['a list that holds itself', 'profile_models: &a [*a]\nparameters: { instances: { values: *a } }'],
    ['a map that holds itself', '- &a {instances: *a}'],
    ['aliases of aliases, each deeper', chainOfAliases()],
    ['ten thousand aliases', `a: &a x\nb: [${'*a, '.repeat(10_000)}]`],
    ["a tag that is no data's", 'name: !!js/function "x"'],
    ['a tag of its own', '- !foo {instances: 1}'],
    ['a set', '- !!set {instances}'],
    ['more than one document', 'a: 1\n---\nb: 2\n'],
    ['a key that reaches the prototype', '- {__proto__: {polluted: 1}}'],
    ['twenty thousand keys', Array.from({ length: 20_000 }, (_, index) => `k${index}: 1\n`).join('')],
    ['a long name', `${'x'.repeat(200_000)}: 1`],
    ['a text beyond any such file', `# ${'x'.repeat(2 ** 21)}`],
  ])('by %s is refused', (_, text) => {
    expect(() => read(text)).toThrow(expect.objectContaining({ code }));
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });
});

/** Each holds the one before in as many lists as a text may have. */
function chainOfAliases(): string {
  const lists = (inner: string): string => nested('[', inner, ']', 20);
  return Array.from({ length: 45 }, (_, index) => `- &a${index} ${lists(index === 0 ? '1' : `*a${index - 1}`)}`).join(
    '\n',
  );
}

it.each([
  ['in lists', nested('[', '', ']')],
  ['in maps', nested('{a: ', '1', '}')],
  ['in blocks', '- '.repeat(100_000)],
])('A YAML text that is nested 100,000 deep %s is refused', (_, text) => {
  expect(() => readYaml(text)).toThrow(YamlFault);
});
