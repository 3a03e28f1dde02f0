import type { HeldOutSeries } from '#app/series-law.ts';
import { NS_PER_US, nsToMs } from '#base/units.ts';
import type { LabelledSeries } from '#emulator/profile/token-table.ts';
import { aligned, figure, percent } from './calibrate-tables.ts';

/** Returns the fitted figures of a language model, then measured and predicted ones by row. */
export function formatSeries(series: LabelledSeries, { fitted, rows, medianMiss }: HeldOutSeries): string[] {
  const { law, policy } = fitted;
  const cells = rows.map(({ row, predicted, isUsed }) => [
    `${row.concurrency}`,
    ...(['ttftMs', 'tpotMs'] as const).flatMap((name) => [
      figure(row[name]),
      figure(predicted[name]),
      percent(predicted[name] / row[name] - 1),
    ]),
    isUsed ? 'fitted' : '',
  ]);
  return [
    `${describeSeries(series)}: fitted to ${rows.filter(({ isUsed }) => isUsed).length} rows`,
    `  a step: ${figure(nsToMs(law.baseNs))} ms + at least ${figure(nsToMs(law.floorNs))} ms, ` +
      `${figure(law.perDecodingNs / NS_PER_US)} µs for each sequence, ${figure(law.perPrefillTokenNs / NS_PER_US)} µs for each token of a prompt`,
    ...(policy.kvCacheTokens === null
      ? []
      : [
          `  the KV cache has no place for all sequences at the highest concurrency: about ${policy.kvCacheTokens.toLocaleString('en')} tokens. ` +
            'Beyond that TTFT is the wait for a place, and depends on how many requests the benchmark sent',
        ]),
    ...aligned([['clients', 'TTFT ms', 'predicted', 'off by', 'TPOT ms', 'predicted', 'off by', ''], ...cells]),
    ...(medianMiss
      ? [`  rows held out: median error ${percent(medianMiss.ttft)} in TTFT, ${percent(medianMiss.tpot)} in TPOT`]
      : []),
  ];
}

/** `vllm, h100_sxm, 1024, 1024`. */
export const describeSeries = ({ labels }: LabelledSeries): string => Object.values(labels).join(', ') || 'the table';
