import type { Root, Sentence } from 'nlcst';
import { SKIP, visit } from 'unist-util-visit';
import type { VFile } from 'vfile';

/** Finds sentences of more words than a reader keeps in mind. */
export function longSentences(mostWords: number) {
  return (tree: Root, file: VFile): void => {
    visit(tree, 'SentenceNode', (sentence) => {
      const words = wordsIn(sentence);
      if (words > mostWords)
        file.message(`A sentence of ${words} words; at most ${mostWords} are easy to read`, {
          place: sentence.position,
          source: 'prose',
          ruleId: 'long-sentence',
        });
      return SKIP;
    });
  };
}

const wordsIn = (sentence: Sentence): number => sentence.children.filter(({ type }) => type === 'WordNode').length;
