import { formatFigure, formatMs, formatRate, formatRatio, plainLine } from '../../../base/format.ts';
import type { Measurement } from '../../../profiler/measurement.ts';
import { metricsOf } from '../../goal/metrics/registry.ts';
import { describeAssignment, describeConstraint, describeLevel } from '../../summary/describe.ts';
import type { Goal } from '../../types.ts';
import type { Credit, ParameterCredit } from './credit.ts';
import { engineWords, tokenTimeSentence } from './engine-load.ts';
import { type Limit, NO_MORE } from './limit.ts';
import type { TimeSplit } from './time-split.ts';

/** A time split with its measurement. */
export interface Told {
  readonly split: TimeSplit;
  readonly measurement: Measurement;
}

/** Returns the sentences on where a request's time goes and went; only its duration without server statistics. */
export function splitSentences(before: Told | null, after: Told): readonly string[] {
  const [first, second] = before ? ['Before', 'Now'] : ['', ''];
  return [
    ...(before ? [`${timeWords(first, before, 'took')}.`] : []),
    `${timeWords(second, after, 'takes')}.`,
    ...(before ? executionSentence(before.split, after.split) : []),
    ...(after.split.parts ? [] : [tokenTimeSentence(after.measurement) ?? unsplit(after.measurement)]),
  ];
}

function timeWords(when: string, { split: { totalMs, parts }, measurement }: Told, verb: string): string {
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
    ...(names === '' ? [] : [`Little difference alone (${basisOf(idle)}): ${names}.`]),
    ...(Object.keys(unknown).length > 0
      ? [
          `What ${describeAssignment(unknown)} did is not known: no trial differs in that alone, and the queueing model cannot say.`,
        ]
      : []),
  ];
}

function creditWords(
  credit: ParameterCredit,
  { budgetLatencyMs: { percentile } }: Measurement,
  { budget }: Goal,
): string {
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
  return `${name} ${gives} (without it ${formatRate(off.throughput)}${over}${tail})`;
}

function basisOf(credits: readonly ParameterCredit[]): string {
  const bases = new Set(credits.map(({ basis }) => basis));
  if (bases.size === 2) return 'measured, and by the model';
  return bases.has('measured') ? 'measured' : 'by the model';
}

/** Returns the sentence on what limits the best, with its evidence. */
export function limitSentence(limit: Limit, stands: Measurement, goal: Goal): string {
  const { kind, higher, queueShare, queueDelayMs, outsideShare, cpuShare } = limit;
  const next = higher
    ? describeLevel({
        ...stands.level,
        value: higher.level,
        ...(higher.batch !== undefined && { batch: higher.batch }),
      })
    : '';
  const rate = higher ? formatRate(higher.throughput) : '';
  const { percentile, value } = stands.budgetLatencyMs;
  const own = Number.isFinite(value) ? `, with p${percentile} ${formatMs(value)}` : '';
  const busy = limit.engine ? engineWords(limit.engine) : busyWords(limit);
  const more =
    higher && higher.throughput <= NO_MORE * stands.throughput.value ? `${next} served no more (${rate})` : '';
  const beyond = higher?.missed ? `; ${constraintWords(limit, goal, '', next)}` : '';
  switch (kind) {
    case 'client':
      return `The limit now is the load generator, not the server: ${stands.client.bound ? (stands.client.reason ?? 'it could not keep up') : `at ${next} ${higher?.clientReason}`}.`;
    case 'cpu':
      return `The limit now is the CPU of the server's machine, ${percent(cpuShare ?? 0)} busy with all that runs there${lead(busy)}.`;
    case 'compute':
      return `The limit now is compute: ${[busy, gpuWords(limit), more].filter((words) => words !== '').join(', ')}.`;
    case 'kv-cache':
      return `The limit now is the KV cache, for which requests wait: ${busy}${beyond}.`;
    case 'sequences':
      return `The limit now is the number of sequences at once, ${limit.engine?.most}: ${busy}${beyond}.`;
    case 'queue-delay':
      return `The limit now is the batching delay of ${formatMs(queueDelayMs)}: requests spend ${percent(queueShare ?? 0)} of their time in the queue${lead(busy)}.`;
    case 'outside':
      return `The limit now is outside the model: ${percent(outsideShare ?? 0)} of a request's time is neither queue nor compute${lead(busy)}.`;
    case 'latency-budget':
      return higher?.missed && !limit.missed
        ? `The limit now is the latency budget: ${next} served ${rate} and missed it${lead(busy)}.`
        : `The limit now is the latency budget: p${percentile} ${formatMs(value)} where ${formatMs(goal.budget?.latencyMs ?? value)} is allowed${lead(busy)}.`;
    case 'constraint':
      return `The limit now is the goal: ${constraintWords(limit, goal, describeLevel(stands.level), next)}${lead(busy)}.`;
    case 'level-range':
      return `Nothing is saturated: ${describeLevel(stands.level)} is the highest load that was allowed${own}${lead(busy)}.`;
    case 'unseen':
      return `More load serves no more (${next}: ${rate}), and nothing that was measured tells why${lead(busy)}.`;
    case 'none':
      return `Nothing that was measured is at its limit${lead(busy)}.`;
  }
}

function constraintWords({ missed, higher }: Limit, goal: Goal, own: string, next: string): string {
  const constraint = missed ?? higher?.missed;
  return constraint ? `${missed ? own : next} misses ${describeConstraint(constraint, metricsOf(goal))}` : '';
}

const lead = (words: string): string => (words === '' ? '' : `; ${words}`);

function busyWords({ busyShare, instances, batch }: Limit): string {
  if (busyShare === null) return '';
  const who = instances === 1 ? 'its one instance executes' : `its ${instances} instances execute`;
  const batches = batch ? `, in batches of ${formatFigure(batch.mean)} where ${batch.most} are allowed` : '';
  return `${who} ${percent(busyShare)} of the time${batches}`;
}

const gpuWords = ({ gpuShare }: Limit): string => (gpuShare === null ? '' : `the GPU is ${percent(gpuShare)} used`);

/** Returns the sentence on what to try besides the config; none without advice. */
export const adviceSentence = (advice: readonly string[]): readonly string[] =>
  advice.length === 0 ? [] : [`Outside the config, try ${advice.join('; or ')}.`];

const percent = (share: number): string => `${Math.round(share * 100)} %`;
