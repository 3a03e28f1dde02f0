import { dirname } from 'node:path';
import { formatMs, inertLine, listed, type RateUnit, wrapped } from '#base/format.ts';
import { listChangedSettings } from '#study/analysis/explain/changed-parameters.ts';
import { labelledWords, reasonLabels } from '#study/analysis/explain/reasons.ts';
import { describeBar } from '#study/analysis/explain/time-bar.ts';
import type { StudyStarted } from '#study/records/records.ts';
import { describeClientChange, describeSmallerBatch } from '#study/summary/client-words.ts';
import { describeCost, describeInstanceType } from '#study/summary/cost-point.ts';
import { decidingFigures, describeBasis, judgedPoint } from '#study/summary/deciding-figures.ts';
import {
  assignmentLines,
  describeGoodput,
  describeGpuCause,
  describeLevel,
  describePrediction,
  describeRecommendation,
  describeSpeedShare,
  describeThroughput,
  describeTokens,
} from '#study/summary/describe.ts';
import type { Reason } from '#study/summary/explanation-schema.ts';
import { createHeadline } from '#study/summary/headline.ts';
import { describeNoise, noiseSentence } from '#study/summary/noise-words.ts';
import type { CostPoint, StandingPoint, SummaryPoint } from '#study/summary/point-schema.ts';
import { chooseRateUnit } from '#study/summary/rate-unit.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import { isOriginal } from '#study/summary/verdict.ts';
import { restoreCommand } from './next-commands.ts';
import { type EndedRun, nextSteps } from './next-steps.ts';

/** Paths of a run's documents, by name. */
export type DocumentPaths = { readonly [document: string]: string | null };

/**
 * Returns the outcome of a run: the verdict in a sentence, the best and the original, the reasons,
 * the files, the next steps, and last the state in which the model was left. `columns`: the width
 * of the terminal, at which sentences are wrapped; paths and commands stay whole. `run`: what the
 * next steps follow from; without it there are none.
 */
export function closingLines(
  summary: Summary,
  files: DocumentPaths,
  { columns = Number.POSITIVE_INFINITY, run }: { readonly columns?: number | undefined; readonly run?: EndedRun } = {},
): string[] {
  const said = [...verdict(summary, run?.started), ...why(summary), ...noise(summary), ...clientBound(summary)].flatMap(
    (line) => broken(line, columns),
  );
  const steps = run ? nextSteps(summary, run).map((step, index) => row(index === 0 ? 'next' : '', step)) : [];
  const model = modelLine(summary.model, summary.restored, files.summary && dirname(files.summary));
  const lines = [...said, ...documents(files, summary), ...steps, model];
  return ['', ...lines.map(inertLine)];
}

/** Wraps a line, and indents the rest to the beginning of the text. */
function broken(line: string, columns: number): string[] {
  if (line.length <= columns || columns < 2 * MARGIN) return [line];
  const [first = '', ...rest] = wrapped(line.slice(MARGIN), columns - MARGIN);
  return [line.slice(0, MARGIN) + first, ...rest.map((part) => row('', part))];
}

function verdict(summary: Summary, started: StudyStarted | undefined): string[] {
  const { best, baseline, budget } = summary;
  const { text } = createHeadline(summary);
  const result = row('result', text);
  if (!best) return [result];
  const emulated =
    summary.emulated === null
      ? []
      : [row('emulated', `by tritune's emulator (${summary.emulated}): not figures of a real server`)];
  const isBaseline = isOriginal(best, baseline);
  return [
    result,
    ...emulated,
    ...(summary.assumptions ?? []).map((line) => row('assumed', line)),
    ...(isBaseline ? [] : settings(summary.feasible ? 'best' : 'nearest', best, started)),
    row(isBaseline ? 'original' : '', figures(best, budget)),
    ...(best.cost ? costLines(best.cost, chooseRateUnit(best)) : []),
    ...(best.recommended && budget && summary.feasible
      ? [row('level', describeRecommendation(best.recommended, budget, best.load))]
      : []),
    ...(best.predicted ? [row('predicted', describePrediction(best.predicted, chooseRateUnit(best)))] : []),
    ...(baseline && !isBaseline ? [row('original', figures(baseline, budget))] : []),
    ...(baseline?.cost && !isBaseline ? [row('', describeCost(baseline.cost, chooseRateUnit(baseline)))] : []),
    ...clients(summary),
    ...rejected(summary),
    ...speed(summary),
  ];
}

/**
 * Returns what the point's config changes of the original, in a row, or in one for each of several
 * models.
 */
function settings(name: string, point: SummaryPoint, started: StudyStarted | undefined): string[] {
  const changed = started ? listChangedSettings(started, point) : point.assignment;
  const { first, rest } = assignmentLines(`trial ${point.trial}:`, changed);
  return [row(name, first), ...rest.map((line) => row('', line))];
}

/** Returns the cost, and that on each type of instance if there are several to choose from. */
function costLines(cost: CostPoint, unit: RateUnit): string[] {
  const { currency, instanceTypes = [] } = cost;
  const types = instanceTypes.length > 1 ? instanceTypes.map((type) => describeInstanceType(type, currency)) : [];
  return [row('cost', describeCost(cost, unit)), ...types.map((type) => row('', type))];
}

/** The name of rows about what clients of the best may no longer send or get. */
export const BREAKS = 'BREAKS';

/** Returns what clients notice, what they cost, and what happened to a latency without a limit. */
function clients({ clientChanges, smallerBatch, latencyNote, model }: Summary): string[] {
  return [
    ...clientChanges.map((change) => row(change.breaks ? BREAKS : 'clients', describeClientChange(change, model))),
    ...(smallerBatch ? [row('clients', describeSmallerBatch(smallerBatch, model))] : []),
    ...(latencyNote === null ? [] : [row('latency', latencyNote)]),
  ];
}

/** Explains why a trial that seemed better in the search is not the best. */
const rejected = ({ rejected: trial }: Summary): string[] =>
  trial ? [row('rejected', `trial ${trial.trial} seemed better in the search, but ${trial.reason}`)] : [];

/** Returns a line only if figures of different speeds were compared. */
function speed({ speed: { usual, lowest, highest, changes, corrected } }: Summary): string[] {
  if (corrected === 0 || usual === null || lowest === null || highest === null) return [];
  const cause = changes.findLast(({ gpu }) => gpu)?.gpu;
  const why = cause ? `, ${describeGpuCause(cause)}` : '';
  const range = `${describeSpeedShare(lowest)} to ${describeSpeedShare(highest)} of its initial speed${why}`;
  return [
    row(
      'speed',
      `the machine ran at ${range}; the result is normalised to its usual speed, ${describeSpeedShare(usual)}, the lines above it are as measured`,
    ),
  ];
}

/**
 * Returns the figures that decide on a point at its level, and what was measured if that is
 * different; of a study with goodput limits the goodput first.
 */
function figures(point: StandingPoint, budget: Summary['budget']): string {
  const { goodput, ...deciding } = decidingFigures(point);
  const good = goodput ? `${describeGoodput(goodput)}; ` : '';
  return `${good}${plainFigures(deciding)}${describeBasis(judgedPoint(point), budget)}`;
}

function plainFigures(point: SummaryPoint): string {
  const { throughput, load, budgetLatencyMs, latencyMs, tokens } = point;
  const { percentile, value } = budgetLatencyMs;
  if (tokens) return describeTokens(tokens, percentile, ` at ${describeLevel(load)}`);
  const median = percentile === 50 ? '' : `, p50 ${formatMs(latencyMs.p50 ?? Number.NaN)}`;
  const latency = `p${percentile} ${formatMs(value ?? Number.NaN)}${median}`;
  return `${describeThroughput(throughput, chooseRateUnit(point))} at ${describeLevel(load)}, ${latency}`;
}

/**
 * Returns the short list of reasons. The split of a request's time, which other documents show as
 * bars, comes first.
 */
function why({ explanation }: Summary): string[] {
  const reasons = explanation?.reasons ?? [];
  const formatBar = (about: Reason['about']): string => {
    const bar = reasons.find((reason) => reason.about === about)?.bar;
    return bar ? describeBar(bar) : '';
  };
  const [before, now] = [formatBar('before'), formatBar('now')];
  const time = before === '' ? `a request takes ${now}` : `a request took ${before}; now ${now}`;
  return [
    ...(now === '' ? [] : [row('time', time)]),
    ...reasons.map((reason) => row(reasonLabels[reason.about], labelledWords(reason))),
  ];
}

/** Returns lines only if the noise deserves attention. */
function noise({ noiseFloor, budget }: Summary): string[] {
  const words = noiseFloor && describeNoise(noiseFloor, budget);
  if (!words || words.tone === 'quiet') return [];
  return [row('noise', noiseSentence(words)), ...(words.advice === null ? [] : [row('', words.advice)])];
}

function clientBound({ clientBound }: Summary): string[] {
  if (!clientBound) return [];
  const { measurements, reason } = clientBound;
  const were = measurements === 1 ? '1 measurement was' : `${measurements} measurements were`;
  return [row('client', `${were} limited by the load generator, not by the server (discarded): ${reason}`)];
}

/** Lists the written documents; for several models it names the directory with a config of each. */
function documents({ config = null, ...files }: DocumentPaths, { best }: Summary): string[] {
  const models = Object.keys(best?.models ?? {});
  const configs = config !== null && models.length > 1 ? `${dirname(dirname(config))} (${listed(models)})` : config;
  return Object.entries({ ...files, config: configs }).flatMap(([name, path]) =>
    path === null ? [] : [row(name, path)],
  );
}

/**
 * Returns the state in which a run left its model. `restored`: null if there is no record that it
 * was restored.
 */
export function modelLine(model: string, restored: Summary['restored'], directory: string | null = null): string {
  if (!restored) return row('model', `${model} was NOT put back: ${restoreCommand(directory ?? 'DIRECTORY')}`);
  return row('model', restored.verified ? restored.detail : `NOT as it was: ${restored.detail}`);
}

/** Columns before the text. */
const MARGIN = 11;
const row = (name: string, text: string): string => `${name.padEnd(MARGIN)}${text}`;
