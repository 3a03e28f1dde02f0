import { expect, it } from 'vitest';
import { valuesRow } from '#tui/panels/parameter-rows.ts';

const cells = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024].map((value) => ({ mark: ' ', text: `${value}` }) as const);

const textAt = (at: number | null, columns = 78): string =>
  valuesRow('max_batch_size', cells, { at, isSelected: true, columns })
    .map(({ text }) => text)
    .join('');

it('shows whole values only, those around the chosen one, and where there are more', () => {
  expect(textAt(null)).toMatchInlineSnapshot(
    `"› max_batch_size             1   2   4   8   16   32   64   128   256   512 … "`,
  );
  expect(textAt(2)).toMatchInlineSnapshot(
    `"› max_batch_size             1   2 [ 4]  8   16   32   64   128   256   512 … "`,
  );
  expect(textAt(10)).toMatchInlineSnapshot(
    `"› max_batch_size           …  4   8   16   32   64   128   256   512 [ 1024]  "`,
  );
  expect(textAt(5, 50)).toMatchInlineSnapshot(`"› max_batch_size           …  4   8   16 [ 32]…   "`);
  expect(textAt(3, 120)).toMatchInlineSnapshot(
    `"› max_batch_size             1   2   4 [ 8]  16   32   64   128   256   512   1024                                      "`,
  );
  for (let columns = 40; columns < 120; columns++)
    for (let at = 0; at < cells.length; at++) {
      const text = textAt(at, columns);
      expect(text).toContain(`[ ${cells[at]?.text}]`);
      expect(text.length).toBeLessThanOrEqual(columns);
    }
});
