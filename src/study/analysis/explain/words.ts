import { formatFigure, formatMs, formatRate, formatRatio, plainLine } from '#base/format.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { describeAssignment, describeLevel } from '../../summary/describe.ts';
import type { Credit, ParameterCredit, TimeSplit } from '../../summary/explanation-schema.ts';
import { chooseRateUnit } from '../../summary/rate-unit.ts';
import type { Goal } from '../../types.ts';
import { tokenTimeSentence } from './engine-load.ts';
import { percent } from './limit-words.ts';

/** A time split with its measurement. */
export interface SplitMeasurement {
  readonly split: TimeSplit;
  readonly measurement: Measurement;
}

/**
 * Returns the sentences on where a request's time goes and went; only its duration without server
 * statistics.
 */
export function splitSentences(before: SplitMeasurement | null, after: SplitMeasurement): readonly string[] {
  const [first, second] = before ? ['Before', 'Now'] : ['', ''];
  return [
    ...(before ? [`${timeWords(first, before, 'took')}.`] : []),
    `${timeWords(second, after, 'takes')}.`,
    ...(before ? executionSentence(before.split, after.split) : []),
    ...(after.split.parts ? [] : [tokenTimeSentence(after.measurement) ?? unsplit(after.measurement)]),
  ];
}

function timeWords(when: string, { split: { totalMs, parts }, measurement }: SplitMeasurement, verb: string): string {
  // As many decimals as the total has with three digits, so that the parts visibly add up to it.
  const decimals = Math.max(0, 2 - Math.floor(Math.log10(totalMs)));
  const ms = (value: number): string => `${value.toFixed(Math.min(6, decimals))} ms`;
  const at = `${when === '' ? 'At' : `${when}, at`} ${describeLevel(measurement.level)}`;
  const whole = `${at}, a request ${verb} ${ms(totalMs)} in the mean`;
  if (!parts) return whole;
  const part = (value: number): string => `${ms(value)} (${percent(value / totalMs)})`;
  return `${whole}: ${part(parts.queueMs)} in the queue, ${part(parts.computeMs)} in compute, ${part(parts.outsideMs)} in network, front end and client`;
}

const unsplit = ({ serverNote }: Measurement): string =>
  `Where that time goes is not known${serverNote ? `: ${plainLine(serverNote, 120)}` : ', as the server gave no usable statistics'}.`;

const ALIKE = 0.1;

function executionSentence({ execution: then }: TimeSplit, { execution: now }: TimeSplit): string[] {
  if (!then || !now) return [];
  const isAlike = (a: number, b: number): boolean => Math.abs(a / b - 1) < ALIKE;
  if (isAlike(then.batchSize, now.batchSize)) return [];
  return [
    `An execution serves ${formatFigure(now.batchSize)} inferences in ${formatMs(now.meanMs)}, before it was ${formatFigure(then.batchSize)} in ${formatMs(then.meanMs)}.`,
  ];
}

/** Returns the sentences on which parameters made the difference, and how that is known. */
export function creditSentences(
  { knobs: credits, unknown }: Credit,
  stands: Measurement,
  goal: Goal,
): readonly string[] {
  const telling = credits.filter(({ matters }) => matters !== null);
  const idle = credits.filter(({ matters }) => matters === null);
  const of = (basis: ParameterCredit['basis']): string =>
    telling
      .filter((credit) => credit.basis === basis)
      .map((credit) => creditWords(credit, stands, goal))
      .join('; ');
  const [measured, modelled] = [of('measured'), of('model')];
  const names = idle.map(({ set }) => describeAssignment(set)).join(', ');
  return [
    ...(measured === '' ? [] : [`Measured: ${measured}.`]),
    ...(modelled === '' ? [] : [`By the queueing model, at ${describeLevel(stands.level)}: ${modelled}.`]),
    ...(names === '' ? [] : [`Little difference alone (${describeBasis(idle)}): ${names}.`]),
    ...(Object.keys(unknown).length > 0
      ? [
          `The effect of ${describeAssignment(unknown)} is unknown: no trial differs in that alone, and the queueing model cannot predict it.`,
        ]
      : []),
  ];
}

function creditWords(credit: ParameterCredit, stands: Measurement, { budget }: Goal): string {
  const { percentile } = stands.budgetLatencyMs;
  const { set, basis, against, trial, levels, level, ratio, with: on, without: off, matters } = credit;
  const name = `${describeAssignment(set)}${against === 'original' ? ' alone' : ''}`;
  const source = trial === null ? [] : [trial === 0 ? 'the original' : `trial ${trial}`];
  const place = levels === 'same' ? describeLevel(level) : 'each at its own best level';
  const from = trial === null ? [] : [...source, place];
  if (matters === 'latency') {
    const change = `${name} takes p${percentile} from ${formatMs(off.latencyMs)} to ${formatMs(on.latencyMs)}`;
    return from.length === 0 ? change : `${change} (${from.join(', ')})`;
  }
  const about = basis === 'model' ? 'about ' : '';
  const gives = ratio >= 1 ? `gives ${about}${formatRatio(ratio)}` : `costs ${about}${percent(1 - ratio)}`;
  const isOver =
    budget?.percentile === percentile && off.latencyMs > budget.latencyMs && on.latencyMs <= budget.latencyMs;
  const over = isOver ? `, over the budget at p${percentile} ${formatMs(off.latencyMs)}` : '';
  const tail = from.length === 0 ? '' : `; ${from.join(', ')}`;
  return `${name} ${gives} (without it ${formatRate(off.throughput, chooseRateUnit(stands))}${over}${tail})`;
}

function describeBasis(credits: readonly ParameterCredit[]): string {
  const bases = new Set(credits.map(({ basis }) => basis));
  if (bases.size === 2) return 'measured, and by the model';
  return bases.has('measured') ? 'measured' : 'by the model';
}

/** Returns the sentence on what to try besides the config; none without advice. */
export const adviceSentence = (advice: readonly string[]): readonly string[] =>
  advice.length === 0 ? [] : [`Outside the config, try ${advice.join('; or ')}.`];
