import remarkGfm from 'remark-gfm';
import remarkRetext from 'remark-retext';
import remarkValidateLinks from 'remark-validate-links';
import retextEnglish from 'retext-english';
import retextIndefiniteArticle from 'retext-indefinite-article';
import retextPassive from 'retext-passive';
import retextRepeatedWords from 'retext-repeated-words';
import { type Preset, unified } from 'unified';
import { longSentences } from './long-sentences.ts';
import { passiveChains } from './passive-chains.ts';
import { weaselWords } from './weasel-words.ts';

/**
 * What `npm run prose` checks after the spelling: that every link leads to a file or a heading of
 * the repository, and the faults of English that a machine finds without false alarms.
 */
const prose = unified()
  .use(retextEnglish)
  .use(retextRepeatedWords)
  .use(retextIndefiniteArticle)
  .use(longSentences, 45)
  .use(retextPassive)
  .use(passiveChains, 3)
  .use(weaselWords);

export const rules: Preset = {
  plugins: [remarkGfm, [remarkValidateLinks, { repository: false }], [remarkRetext, prose]],
};
