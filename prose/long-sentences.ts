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

/** The parser takes a full stop before code for a part of the word: here it ends a sentence too. */
function wordsIn({ children }: Sentence): number {
  let [words, most] = [0, 0];
  for (const child of children) {
    if (child.type !== 'WordNode') continue;
    most = Math.max(most, ++words);
    const last = child.children.at(-1);
    if (last?.type === 'PunctuationNode' && /[.!?]/.test(last.value)) words = 0;
  }
  return most;
}
