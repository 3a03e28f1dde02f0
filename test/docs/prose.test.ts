import { remark } from 'remark';
import { expect, it } from 'vitest';
import { rules } from '../../prose/rules.ts';

/** The rules that a text breaks. */
const faultsOf = async (text: string): Promise<readonly string[]> => {
  const file = await remark().use(rules).process({ path: 'README.md', value: text });
  return file.messages.map(({ ruleId }) => ruleId ?? '');
};

const words = (count: number): string => `The server ${'waits and '.repeat((count - 3) / 2)}ends.`;

it.each([
  ['a sentence that is too long', words(47), ['long-sentence']],
  ['a sentence that is long enough', words(45), []],
  ['a table with long cells', `| a |\n|---|\n| ${words(61)} |`, []],
  ['passives in a row', 'It is sent when it was built and had been seen.', ['passive-chain']],
  ['one passive', 'It is built.', []],
  ['a word that says nothing', 'This is very fast, in order to win.', ['weasel-word', 'weasel-word']],
  ['a word twice', 'It is is fast.', ['is']],
  ['the wrong article', 'It is an server.', ['retext-indefinite-article']],
  ['faults in code', 'Call `very very` or\n\n```\nan server\n```', []],
  ['a link to no heading', '# A\n\n[b](#b)', ['missing-heading']],
])('finds faults in %s', async (_, text, faults) => {
  expect(await faultsOf(text)).toEqual(faults);
});
