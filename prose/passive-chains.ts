import type { Root } from 'nlcst';
import { SKIP, visit } from 'unist-util-visit';
import type { VFile } from 'vfile';

/**
 * Keeps what `retext-passive` found only as a fault of a sentence that has at least so many
 * passives; one alone is often the shorter way to say it.
 */
export function passiveChains(least: number) {
  return (tree: Root, file: VFile): void => {
    const isPassive = ({ source }: { readonly source?: string | undefined }): boolean => source === 'retext-passive';
    const offsets = file.messages
      .filter(isPassive)
      .map(({ place }) => (place && 'start' in place ? (place.start.offset ?? -1) : -1));
    file.messages = file.messages.filter((message) => !isPassive(message));
    visit(tree, 'SentenceNode', ({ position }) => {
      const [from, to] = [position?.start.offset ?? 0, position?.end.offset ?? 0];
      const count = offsets.filter((offset) => offset >= from && offset < to).length;
      if (count >= least)
        file.message(`${count} passives in a sentence: say who does what`, {
          place: position,
          source: 'prose',
          ruleId: 'passive-chain',
        });
      return SKIP;
    });
  };
}
