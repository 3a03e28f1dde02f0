import { capital, formatRatio } from '#base/format.ts';
import type { StudyState } from '#study/records/state.ts';
import { hasUncheckedVariants } from '#study/summary/accuracy-words.ts';
import { describeClientChange, describeSmallerBatch } from '#study/summary/client-words.ts';
import { describeCost, describeCostShare, isInCost, shareText } from '#study/summary/cost-point.ts';
import { describeGainIn, describeRecommendation } from '#study/summary/describe.ts';
import { describeNoise, noiseSentence } from '#study/summary/noise-words.ts';
import { chooseRateUnit } from '#study/summary/rate-unit.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import { type Html, html } from '../html.ts';

/** Returns the cost of the best as a sentence; '' without prices. */
export const costText = ({ best }: Summary): string =>
  best?.cost ? `It costs ${describeCost(best.cost, chooseRateUnit(best))}.` : '';

/**
 * Returns how many times better the best is than the original, and its uncertainty; null if not
 * measured.
 */
export function gainText({ gain, objectives }: Summary): string | null {
  if (!gain) return null;
  const { ratio, low, high } = gain;
  const interval = low !== null && high !== null ? `95 % interval ${formatRatio(low)} to ${formatRatio(high)}, ` : '';
  if (isInCost(objectives)) {
    const range = low !== null && high !== null ? `95 % interval ${shareText(high)} to ${shareText(low)}, ` : '';
    return `at ${describeCostShare(ratio)} (${range}alternating runs)`;
  }
  const by = describeGainIn(objectives);
  return `${formatRatio(ratio ?? Number.NaN)} ${by === '' ? '' : 'as good as '}the original config${by} (${interval}alternating runs)`;
}

/** Returns the warnings that a reader needs before any figure. */
export function notices(state: StudyState, summary: Summary): Html {
  const { rejected, clientBound, noiseFloor, budget, clientChanges, smallerBatch, latencyNote, model } = summary;
  const { server, finished } = state;
  const noise = noiseFloor && describeNoise(noiseFloor, budget);
  const words = [
    ...(server.emulated === null ? [] : ["These figures come from tritune's emulator, not from a real server."]),
    ...(summary.assumptions ?? []).map((line) => `Assumed, and so measured: ${line}.`),
    ...(finished === null ? ['This run is not finished: the page shows its journal so far.'] : []),
    ...(finished?.interrupted ? ['This run was interrupted before its search was over.'] : []),
    ...(hasUncheckedVariants(state)
      ? ['The outputs of the variants were not compared with expected ones: their accuracy is unknown.']
      : []),
    ...(rejected ? [`Trial ${rejected.trial} was rejected: ${rejected.reason}.`] : []),
    ...(noise && noise.tone !== 'quiet'
      ? [
          `At the start of the study: ${noiseSentence(noise)}.${noise.advice === null ? '' : ` ${capital(noise.advice)}.`}`,
        ]
      : []),
    ...(clientBound
      ? [
          `${clientBound.measurements === 1 ? '1 measurement was' : `${clientBound.measurements} measurements were`} discarded because the load generator was the limit: ${clientBound.reason}.`,
        ]
      : []),
  ];
  const broken = clientChanges.filter((change) => change.breaks).map((change) => describeClientChange(change, model));
  const others = [
    ...clientChanges.filter((change) => !change.breaks).map((change) => describeClientChange(change, model)),
    ...(smallerBatch ? [describeSmallerBatch(smallerBatch, model)] : []),
    ...(latencyNote === null ? [] : [latencyNote]),
  ];
  return html`${broken.map((text) => html`<p class="notice bad">The best config breaks clients: ${text}.</p>`)}${[
    ...words,
    ...others.map((text) => `${capital(text)}.`),
  ].map((text) => html`<p class="notice">${text}</p>`)}`;
}

/** Returns how well the best keeps the budget; '' if the goal has no curve. */
export function levelText({ best, budget }: Summary): string {
  if (!best?.recommended || !budget) return '';
  return `It ${describeRecommendation(best.recommended, budget, best.load)}.`;
}
