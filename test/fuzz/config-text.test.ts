import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { canonicalJson } from '#base/json.ts';
import { normaliseConfig } from '#triton/config/normal-form.ts';
import { type ParsedConfig, parseConfigText } from '#triton/config/parser.ts';
import { printConfigText } from '#triton/config/printer.ts';
import { validateConfig } from '#triton/config/validation.ts';
import { FUZZ_TIMEOUT_MS, fuzz, nested, refusedOr } from '../support/fuzz.ts';
import { anyConfig } from '../support/fuzz-config.ts';

const words = [
  ...['{', '}', '[', ']', '<', '>', ':', ',', ';', '-', '"', "'", '\\', '#', '/', '.', ' ', '\\x', '\\u12', '\\777'],
  ...['input', 'name', 'dims', 'parameters', 'key: "__proto__"', 'value', 'TYPE_FP32', 'version_policy', 'new_field'],
  ...['new_field { a: 1 }', '[ext.name] { }', 'new_field: [1, "a", { b: <c: nan> }]', 'inf', 'true', '0x1F', '017'],
];

const parse = (text: string): ParsedConfig | undefined =>
  refusedOr(() => parseConfigText(text, 'config.pbtxt'), 'CONFIG_INVALID');

/** What was read prints as what reads the same, and everybody who looks at it can. */
function checkReading(read: ParsedConfig | undefined): void {
  if (!read) return;
  const { config, unknownFields } = read;
  const printed = printConfigText(config, { unknownFields });
  expect(canonicalJson(parseConfigText(printed, 'printed').config)).toBe(canonicalJson(config));
  for (const { path, reason } of validateConfig(config)) expect(`${path}${reason}`).not.toBe('');
}

describe('a config.pbtxt that is bad', () => {
  it('of loose words is too', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const soup = fc.array(fc.oneof(fc.constantFrom(...words), fc.string({ maxLength: 3 })), { maxLength: 40 });
    fuzz(soup, (parts) => checkReading(parse(parts.join(''))));
  });

  it('of any valid config, printed and damaged, is too', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const printed = anyConfig.map((json) => printConfigText(normaliseConfig(json)));
    const cut = fc.tuple(printed, fc.nat(), fc.nat(30), fc.constantFrom(...words));
    fuzz(
      cut,
      ([text, place, length, word]) => {
        const at = place % (text.length + 1);
        checkReading(parse(text.slice(0, at) + word + text.slice(at + length)));
      },
      0.2,
    );
  });

  it.each([
    ['messages', nested('a {', '', '}')],
    ['messages in angles', nested('a <', '', '>')],
    ['lists', `a: ${nested('[', '1', ']')}`],
    ['lists without an end', `a: ${'['.repeat(1_000_000)}`],
    ['brackets of a name', '['.repeat(1_000_000)],
  ])('nested 100,000 deep in %s is refused', (_, text) => {
    expect(() => parseConfigText(text, 'f')).toThrow(expect.objectContaining({ code: 'CONFIG_INVALID' }));
  });

  it('may be long as long as it is below 4 Mi characters', () => {
    const list = Array.from({ length: 300_000 }, (_, index) => index % 10).join(',');
    expect(parse(`dims_of_a_newer_server: [${list}]`)?.config.dims_of_a_newer_server).toHaveLength(300_000);
    expect(parse(`dims_of_a_newer_server: 1 `.repeat(150_000))?.unknownFields).toHaveLength(1);
    for (const text of ['# x', 'a', '"', '\\', '1', ' ', '"a" ']) {
      parse(text.repeat(Math.floor((4 * 2 ** 20) / text.length)));
    }
    expect(() => parseConfigText(' '.repeat(4 * 2 ** 20 + 1), 'f')).toThrow(/more than/);
  });

  it('leaves prototypes alone', () => {
    const read = parse('parameters { key: "__proto__" value { string_value: "x" } } constructor { toString: 1 }');
    expect(Object.keys(read?.config.parameters ?? {})).toEqual(['__proto__']);
    expect(Object.hasOwn(read?.config ?? {}, 'constructor')).toBe(true);
    expect(({} as { string_value?: unknown }).string_value).toBeUndefined();
    checkReading(read);
  });
});
