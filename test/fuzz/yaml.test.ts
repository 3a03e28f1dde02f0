import { describe, expect, it } from 'vitest';
import { readYaml, YamlFault } from '#base/yaml.ts';
import { FUZZ_TIMEOUT_MS, fuzzAsync, hostileJson, nested } from '../support/fuzz.ts';
import { yamlFiles } from './parsers/documents.ts';

const bomb = Array.from({ length: 12 }, (_, index) =>
  index === 0 ? 'a0: &a0 [x, x, x, x, x, x]' : `a${index}: &a${index} [${`*a${index - 1}, `.repeat(6)}]`,
).join('\n');

describe.each(yamlFiles)('$name that is bad', (parser) => {
  it('by other shapes is refused with a code, or read', { timeout: FUZZ_TIMEOUT_MS }, async () => {
    const keys = (parser.words ?? []).filter((word) => /^[\w.]+$/.test(word)).concat('name', 'values');
    await fuzzAsync(hostileJson(keys), async (text) => void (await parser.read(Buffer.from(text))), 0.25);
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
    ['a text beyond any such file', `# ${'x'.repeat(2 ** 21)}`],
  ])('by %s is refused', async (_, text) => {
    expect(await parser.read(Buffer.from(text))).toBeUndefined();
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it.each([
    ['twenty thousand keys', Array.from({ length: 20_000 }, (_, index) => `k${index}: 1\n`).join('')],
    ['a long name', `${'x'.repeat(200_000)}: 1`],
  ])('by %s is refused, or read', async (_, text) => {
    await parser.read(Buffer.from(text));
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
