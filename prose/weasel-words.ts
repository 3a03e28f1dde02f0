import type { Root } from 'nlcst';
import { search } from 'nlcst-search';
import { pointEnd, pointStart } from 'unist-util-position';
import type { VFile } from 'vfile';

/**
 * Words that claim or pad, and say nothing that could be checked; and what takes their place, ''
 * where nothing does.
 */
const words: Readonly<Record<string, string>> = {
  very: '',
  quite: '',
  fairly: '',
  somewhat: '',
  simply: '',
  basically: '',
  obviously: '',
  really: '',
  just: '',
  actually: '',
  easily: '',
  'of course': '',
  'note that': '',
  'needless to say': '',
  seamless: '',
  seamlessly: '',
  blazing: '',
  effortless: '',
  effortlessly: '',
  powerful: '',
  'in order to': 'to',
  'due to the fact that': 'because',
  'at this point in time': 'now',
  utilise: 'use',
  utilises: 'uses',
  leverage: 'use',
  leverages: 'uses',
  'prior to': 'before',
  'with regard to': 'about',
};

/** Finds words that say nothing, and longer forms of a short word. */
export function weaselWords() {
  return (tree: Root, file: VFile): void => {
    search(tree, Object.keys(words), (match, _index, _parent, phrase) => {
      const better = words[phrase];
      const advice = better ? `write '${better}'` : 'leave it out, or give the figure';
      const [start, end] = [pointStart(match[0]), pointEnd(match.at(-1))];
      const place = start && end ? { start, end } : undefined;
      file.message(`'${phrase}': ${advice}`, { place, source: 'prose', ruleId: 'weasel-word' });
    });
  };
}
