import { readFile, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commonWords } from '#base/common-words.ts';
import { seededRandom } from '#base/random.ts';
import { type SyntheticRule, syntheticPrompts } from '#loadgen/prompts/synthetic.ts';
import { SyntheticText } from '#loadgen/prompts/synthetic-text.ts';
import { estimate, openTokenizer } from '#loadgen/prompts/tokenizer.ts';
import { writeTokenizer } from './vocabulary.ts';

const rule: SyntheticRule = {
  inputTokens: { kind: 'constant', value: 40 },
  outputTokens: { kind: 'uniform', low: 5, high: 9 },
  prompts: 50,
  prefixes: 0,
  prefixTokens: 0,
  turns: { kind: 'constant', value: 1 },
  thinkMs: { kind: 'constant', value: 0 },
  ignoresEnd: true,
  seed: 7,
};

describe('a tokenizer', () => {
  it('counts as its vocabulary says, from the file or its folder, without the ends of a prompt', async () => {
    const file = await writeTokenizer(['about', 'across']);
    for (const path of [file, dirname(file)]) {
      const tokenizer = await openTokenizer(path);
      expect(tokenizer.path).toBe(file);
      // 'Ġabout' is one token; 'about' at the beginning has no space, and is five letters.
      expect(['about', 'x about', 'x about across', ''].map((text) => tokenizer.count(text))).toEqual([5, 2, 3, 0]);
    }
  });

  it('is left where a pattern of it does not end', async () => {
    const file = await writeTokenizer(['about']);
    const vocabulary = JSON.parse(await readFile(file, 'utf8'));
    const pattern = { Regex: '(a+)+(?=b)b' };
    const split = { type: 'Split', pattern, behavior: 'Isolated', invert: false };
    await writeFile(file, JSON.stringify({ ...vocabulary, pre_tokenizer: split }));
    const tokenizer = await openTokenizer(file, 200);
    expect(() => tokenizer.count('a'.repeat(100))).toThrow('timed out');
  });

  it('that is none is refused with what to do', async () => {
    await expect(openTokenizer('/nowhere/tokenizer.json')).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      hint: expect.stringContaining('--tokenizer'),
    });
    await expect(openTokenizer('package.json')).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  it('is estimated by pieces where there is none', () => {
    expect(['about across', 'internationalisation', 'f(x) = 12345;', 'naïve\nwords'].map(estimate.count)).toEqual([
      2, 3, 8, 3,
    ]);
    expect(estimate.count(commonWords.join(' '))).toBe(commonWords.length);
  });
});

describe('made-up texts', () => {
  it('have exactly the tokens that were asked for, by a vocabulary that knows the words', async () => {
    const texts = new SyntheticText(await openTokenizer(await writeTokenizer(commonWords)));
    const random = seededRandom(1);
    for (const tokens of [1, 2, 17, 400]) {
      const { text, tokens: counted } = texts.text(tokens, random);
      // The first word has no space before it, and so other tokens than behind one.
      expect(Math.abs(counted - tokens), text).toBeLessThanOrEqual(tokens < 10 ? 6 : 0);
    }
  });

  it('say how many tokens they have by a vocabulary that knows no word of them', async () => {
    const tokenizer = await openTokenizer(await writeTokenizer([]));
    const { text, tokens } = new SyntheticText(tokenizer).text(300, seededRandom(1));
    expect(tokens).toBe(tokenizer.count(text));
    expect(Math.abs(tokens - 300)).toBeLessThanOrEqual(8);
  });
});

describe('made-up prompts', () => {
  it('are the same for the same seed, and differ from each other', () => {
    const contents = (seed: number) =>
      syntheticPrompts({ ...rule, seed }, estimate).conversations.map(([prompt]) => prompt?.messages[0]?.content);
    expect(contents(7)).toEqual(contents(7));
    expect(contents(7)).not.toEqual(contents(8));
    expect(new Set(contents(7)).size).toBe(50);
  });

  it('have the lengths of their distributions', () => {
    const { conversations } = syntheticPrompts(rule, estimate);
    for (const [prompt] of conversations) {
      expect(prompt).toMatchObject({ inputTokens: 40, ignoresEnd: true });
      expect(estimate.count(prompt?.messages[0]?.content ?? '')).toBe(40);
    }
    const outputs = new Set(conversations.map(([prompt]) => prompt?.maxTokens));
    expect([...outputs].sort()).toEqual([5, 6, 7, 8, 9]);
  });

  it('share prefixes, whose tokens come on top', () => {
    const { conversations } = syntheticPrompts({ ...rule, prefixes: 3, prefixTokens: 100 }, estimate);
    const begins = conversations.map(([prompt]) => prompt?.messages[0]?.content?.split(' ').slice(0, 100).join(' '));
    expect(new Set(begins).size).toBe(3);
    expect(new Set(conversations.map(([prompt]) => prompt?.inputTokens))).toEqual(new Set([140]));
  });

  it('go on for several turns, with a prefix and no wait in the first alone', () => {
    const several = { turns: { kind: 'uniform', low: 2, high: 4 }, thinkMs: { kind: 'constant', value: 30 } } as const;
    const { conversations } = syntheticPrompts({ ...rule, ...several, prefixes: 1, prefixTokens: 10 }, estimate);
    expect(new Set(conversations.map(({ length }) => length))).toEqual(new Set([2, 3, 4]));
    for (const [first, ...others] of conversations) {
      expect([first?.inputTokens, first?.thinkMs]).toEqual([50, undefined]);
      for (const other of others) expect([other.inputTokens, other.thinkMs]).toEqual([40, 30]);
    }
  });
});
