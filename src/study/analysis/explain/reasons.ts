import { formatFigure, formatMs, formatRatio, plainLine, type RateUnit } from '#base/format.ts';
import type { StageBottleneck } from '#perfmodel/service-model.ts';
import type { Assignment } from '#space/types.ts';
import { describeAssignment, MIN_INSTANCE_GAIN } from '../../summary/describe.ts';
import type { Credit, ParameterCredit, Reason, ReasonBar } from '../../summary/explanation-schema.ts';
import { chooseRateUnit } from '../../summary/rate-unit.ts';
import type { Trial } from '../../types.ts';
import { computeLength } from './time-bar.ts';

/** The subject of a line, for little space. */
export const reasonLabels: Readonly<Record<Reason['about'], string>> = {
  before: 'bottleneck',
  changed: 'changed',
  now: 'bottleneck',
  next: 'try next',
};

/** The words of a line behind its label: `before: compute (…)`. */
export const labelledWords = ({ about, words }: Reason): string =>
  about === 'before' || about === 'now' ? `${about}: ${words}` : words;

/**
 * Returns the value of a reason's full bar width, in the bar's unit. Bars of times share one scale,
 * so that before and now can be compared; the bar of a change has its own.
 */
export function computeBarScale({ about, bar }: Reason, all: readonly Reason[]): number {
  if (!bar) return 0;
  const others = all.flatMap((other) => (other.bar && other.about !== 'changed' ? [computeLength(other.bar)] : []));
  return about === 'changed' ? computeLength(bar) : Math.max(...others);
}

/** A limit in words, and where the time of a request goes. */
export interface LimitSummary {
  readonly words: string;
  readonly bar: ReasonBar;
}

/** The input of the list. */
export interface ReasonParts {
  readonly best: Trial;
  /** What the best sets otherwise than the original, by effective values. */
  readonly changed: Assignment;
  /** null if there is no other original config to compare with. */
  readonly before: LimitSummary | null;
  readonly now: LimitSummary;
  readonly credit: Credit | null;
  readonly bottleneck: StageBottleneck | null;
  readonly advice: readonly string[];
}

/** Returns the list, four lines at most. Lines with nothing to say are left out. */
export function listReasons(parts: ReasonParts): readonly Reason[] {
  const { before, now } = parts;
  return [
    ...(before ? [{ about: 'before', ...before } as const, changedBy(parts)] : []),
    { about: 'now', ...now },
    ...nextSteps(parts),
  ];
}

/** Parameters in the line on what made the difference; the full text has all. */
const MAX_NAMED = 2;
const MAX_LETTERS = 120;

function changedBy({ best, changed, credit }: ReasonParts): Reason {
  const helped = (credit?.knobs ?? []).filter(isHelp);
  const [first] = helped;
  const unit = chooseRateUnit(best.measurements[0] ?? {});
  if (first) {
    const named = helped.filter((credit, index) => isApart(credit, helped.slice(0, index))).slice(0, MAX_NAMED);
    return {
      about: 'changed',
      words: `${named.map(creditPhrase).join(', ')} ${describeBasis(named)}`,
      bar: creditBar(first, unit),
    };
  }
  const all = plainLine(shortAssignment(changed), MAX_LETTERS);
  const isKnown = credit !== null && credit.knobs.length > 0 && Object.keys(credit.unknown).length === 0;
  const words =
    Object.keys(changed).length === 1
      ? `${all}, the only change`
      : isKnown
        ? `${all} together: none of these makes much of a difference alone`
        : `${all}: the effect of each is unknown`;
  return { about: 'changed', words, bar: null };
}

/** True if it shares no setting with the others, unlike a batcher and its delay. */
const isApart = ({ set }: ParameterCredit, others: readonly ParameterCredit[]): boolean =>
  !others.some((other) => Object.keys(other.set).some((name) => Object.hasOwn(set, name)));

const isHelp = ({ matters, ratio, with: on, without: off }: ParameterCredit): boolean =>
  matters === 'throughput' ? ratio > 1 : matters === 'latency' && on.latencyMs < off.latencyMs;

function creditPhrase({ set, against, matters, ratio, with: on, without: off }: ParameterCredit): string {
  const name = `${shortSet(set)}${against === 'original' ? ' alone' : ''}`;
  return matters === 'latency'
    ? `${name} takes the latency from ${formatMs(off.latencyMs)} to ${formatMs(on.latencyMs)}`
    : `${name} gives ${formatRatio(ratio)}`;
}

/** The settings; of several models only the number for each. */
function shortAssignment(assignment: Assignment): string {
  const byModel = Map.groupBy(Object.entries(assignment), ([name]) => name.slice(0, Math.max(0, name.indexOf('/'))));
  return byModel.has('')
    ? describeAssignment(assignment)
    : [...byModel.values()].map((parameters) => shortSet(Object.fromEntries(parameters))).join(', ');
}

/** `instances=4`; of several settings of one of several models only their number. */
function shortSet(set: Assignment): string {
  const names = Object.keys(set);
  const model = names[0]?.split('/', 1)[0] ?? '';
  const isOfModel = names.length > 1 && names.every((name) => name.startsWith(`${model}/`));
  return isOfModel ? `${model} (${names.length} settings)` : describeAssignment(set);
}

function describeBasis(credits: readonly ParameterCredit[]): string {
  const bases = new Set(credits.map(({ basis }) => basis));
  if (bases.size > 1) return '(measured, and by the queueing model)';
  return bases.has('measured') ? '(measured)' : '(by the queueing model)';
}

/**
 * The throughput without the parameter and the part that it adds. For latencies: the rest, and the
 * part that it saves.
 */
function creditBar({ matters, with: on, without: off }: ParameterCredit, unit: RateUnit): ReasonBar {
  if (matters === 'latency') {
    const saved = off.latencyMs - on.latencyMs;
    return createBar('ms', ['with it', on.latencyMs], ['saved', saved]);
  }
  return createBar(unit, ['without it', off.throughput], ['gained', on.throughput - off.throughput]);
}

const createBar = (
  unit: ReasonBar['unit'],
  [kept, value]: readonly [string, number],
  [more, gained]: readonly [string, number],
): ReasonBar => ({
  unit,
  parts: [
    { name: kept, kind: 'without', value },
    { name: more, kind: 'gained', value: gained },
  ],
});

/** Steps in the line; `advice` has all. */
const MAX_STEPS = 2;

function nextSteps({ advice, bottleneck }: ReasonParts): readonly Reason[] {
  const more =
    bottleneck && bottleneck.gain >= MIN_INSTANCE_GAIN
      ? [`one more instance of ${bottleneck.stage}: +${formatFigure(100 * (bottleneck.gain - 1))} % expected`]
      : [];
  const steps = [...more, ...advice].slice(0, MAX_STEPS);
  return steps.length === 0 ? [] : [{ about: 'next', words: steps.join('; or '), bar: null }];
}
