import { dirname } from 'node:path';
import { formatMs, formatRatio, inertLine, wrapped } from '../base/format.ts';
import { describeCost, describeCostShare, isInCost, shareText } from '../study/summary/cost-point.ts';
import {
  describeAssignment,
  describeGainIn,
  describeLevel,
  describePrediction,
  describeRecommendation,
  describeSpeed,
  describeThroughput,
  describeTokens,
} from '../study/summary/describe.ts';
import { describeNoise, noiseSentence } from '../study/summary/noise-words.ts';
import type { Summary, SummaryPoint } from '../study/summary/summary.ts';

/** Where the documents of a run lie, by name. */
export type DocumentPaths = { readonly [document: string]: string | null };

/**
 * What a run came to: the best, the original, the gain, the files, and last in which state the model was left. `columns`: of
 * the terminal, between whose edges sentences are broken; paths stay whole.
 */
export function closingLines(summary: Summary, files: DocumentPaths, columns = Number.POSITIVE_INFINITY): string[] {
  const said = [...verdict(summary), ...why(summary), ...noise(summary), ...clientBound(summary)].flatMap((line) =>
    broken(line, columns),
  );
  const lines = [...said, ...documents(files, summary), modelLine(summary.model, summary.restored)];
  return ['', ...lines.map(inertLine)];
}

/** What does not fit goes on under the text's beginning. */
function broken(line: string, columns: number): string[] {
  if (line.length <= columns || columns < 2 * MARGIN) return [line];
  const [first = '', ...rest] = wrapped(line.slice(MARGIN), columns - MARGIN);
  return [line.slice(0, MARGIN) + first, ...rest.map((part) => row('', part))];
}

function verdict(summary: Summary): string[] {
  const { best, baseline, budget } = summary;
  if (!best) return ['nothing could be measured'];
  const emulated =
    summary.emulated === null
      ? []
      : [row('emulated', `by tritune's emulator (${summary.emulated}): not figures of a real server`)];
  const missed =
    budget && !summary.feasible
      ? [row('infeasible', `nothing met p${budget.percentile} ≤ ${formatMs(budget.latencyMs)}; this is the nearest`)]
      : [];
  const isBaseline = baseline !== null && best.trial === baseline.trial;
  return [
    ...emulated,
    ...missed,
    row(
      'best',
      isBaseline
        ? 'the original config; nothing better was found'
        : `trial ${best.trial}: ${describeAssignment(best.assignment)}`,
    ),
    row('', figures(best)),
    ...(best.cost ? [row('cost', describeCost(best.cost))] : []),
    ...(best.recommended && budget
      ? [row('level', describeRecommendation(best.recommended, budget, best.load, best.compared))]
      : []),
    ...(best.predicted ? [row('predicted', describePrediction(best.predicted, best.compared))] : []),
    ...(baseline && !isBaseline ? [row('original', figures(baseline))] : []),
    ...(baseline?.cost && !isBaseline ? [row('', describeCost(baseline.cost))] : []),
    ...gain(summary, isBaseline),
    ...speed(summary),
  ];
}

/** A line only where figures of different speeds were compared. */
function speed({ speed: { usual, lowest, highest, corrected } }: Summary): string[] {
  if (corrected === 0 || usual === null || lowest === null || highest === null) return [];
  const range = `${describeSpeed(lowest)} to ${describeSpeed(highest)} times that of the first minute`;
  return [
    row(
      'speed',
      `the machine's was ${range}; figures are as measured, and compared at its usual speed, ${describeSpeed(usual)}`,
    ),
  ];
}

function figures({ throughput, load, budgetLatencyMs, latencyMs, tokens }: SummaryPoint): string {
  const { percentile, value } = budgetLatencyMs;
  if (tokens) return describeTokens(tokens, percentile, ` at ${describeLevel(load)}`);
  const median = percentile === 50 ? '' : `, p50 ${formatMs(latencyMs.p50 ?? Number.NaN)}`;
  const latency = `p${percentile} ${formatMs(value ?? Number.NaN)}${median}`;
  return `${describeThroughput(throughput)} at ${describeLevel(load)}, ${latency}`;
}

function gain(summary: Summary, isBaseline: boolean): string[] {
  if (isBaseline) return [];
  if (!summary.gain) return [row('gain', 'not measured: the run ended before its final was done')];
  const { ratio, low, high } = summary.gain;
  const known = low !== null && high !== null;
  if (isInCost(summary.objectives)) {
    const range = known ? `95 %: ${shareText(high)} to ${shareText(low)}` : 'one round only, so no interval';
    return [row('gain', `${describeCostShare(ratio)} (${range}), both measured in turn`)];
  }
  const interval = known ? `95 %: ${formatRatio(low)} to ${formatRatio(high)}` : 'one round only, so no interval';
  const what = `${formatRatio(ratio ?? Number.NaN)}${describeGainIn(summary.objectives)}`;
  return [row('gain', `${what} (${interval}), both measured in turn`)];
}

/** One sentence per line: as one line it would be longer than any terminal. */
function why({ explanation }: Summary): string[] {
  return (explanation?.sentences ?? []).map((sentence, index) => row(index === 0 ? 'why' : '', sentence));
}

/** Lines only where the noise is worth attention. */
function noise({ noiseFloor, budget }: Summary): string[] {
  const words = noiseFloor && describeNoise(noiseFloor, budget);
  if (!words || words.tone === 'quiet') return [];
  return [row('noise', noiseSentence(words)), ...(words.advice === null ? [] : [row('', words.advice)])];
}

function clientBound({ clientBound }: Summary): string[] {
  if (!clientBound) return [];
  const { measurements, reason } = clientBound;
  const were = measurements === 1 ? '1 measurement was' : `${measurements} measurements were`;
  return [row('client', `${were} limited by the load generator, not by the server (left out): ${reason}`)];
}

/** Lists the written documents; for several models it names the directory with a config of each. */
function documents({ config = null, ...files }: DocumentPaths, { best }: Summary): string[] {
  const models = Object.keys(best?.models ?? {});
  const configs = config !== null && models.length > 1 ? `${dirname(dirname(config))} (${models.join(', ')})` : config;
  return Object.entries({ ...files, config: configs }).flatMap(([name, path]) =>
    path === null ? [] : [row(name, path)],
  );
}

/** Returns in which state a run left its model. `restored`: null where nothing says that it was put back. */
export function modelLine(model: string, restored: Summary['restored']): string {
  if (!restored) return row('model', `${model} was NOT put back: run \`tritune restore\``);
  return row('model', restored.verified ? restored.detail : `NOT as it was: ${restored.detail}`);
}

/** Columns before the text. */
const MARGIN = 11;
const row = (name: string, text: string): string => `${name.padEnd(MARGIN)}${text}`;
