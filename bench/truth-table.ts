import { median } from 'simple-statistics';
import { inWords } from './readings.ts';
import type { Found } from './truth-figures.ts';
import type { Study } from './truth-study.ts';

const times = (ratio: number): string => `${ratio.toFixed(2)}×`;
const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;
const isWithin = (low: number, value: number, high: number): boolean => low <= value && value <= high;

/** What was found of one study, for people. */
export function linesOf({ subject, study, minutesLater, best, gain }: Found): string[] {
  const { summary, seconds, program } = study;
  const head = `${subject.model}, p99 within ${subject.budgetMs} ms, by ${program.by}: ${seconds.toFixed(0)} s`;
  if (!best || !summary.best) return [head, '  recommends nothing'];
  const { throughput, latencyMs, assignment, load } = summary.best;
  const says = inWords({ throughput: throughput.value ?? Number.NaN, p99Ms: latencyMs.p99 ?? Number.NaN });
  const settings = Object.entries(assignment).map(([name, set]) => `${name}=${String(set)}`);
  const { inTurn, claimed, roundsKept, rounds } = best;
  return [
    head,
    `  recommends           ${settings.join(' ') || 'the original config'}, concurrency ${load.value}`,
    `  it says              ${says}`,
    `  neutral client       ${inWords(best.reading)}, ${minutesLater.toFixed(1)} minutes later; the budget is kept in ${roundsKept} of ${rounds} rounds`,
    `  ours over neutral    throughput ${inTurn.throughput.toFixed(3)}, p99 ${inTurn.p99.toFixed(3)}, in turn; the summary's over it ${claimed.throughput.toFixed(3)}, ${claimed.p99.toFixed(3)}`,
    `  worth in the budget  ${worthWords(best)}`,
    `  gain                 ${gain ? gainWords(gain) : 'not known'}`,
    `  client in the study  ${costWords(study)}`,
  ];
}

function worthWords({ worth, isWorthOpen, share, shareByRound }: NonNullable<Found['best']>): string {
  if (!worth || share === undefined) return 'nothing: no level keeps it';
  const byRound = shareByRound === undefined ? '' : ` (${shareByRound.toFixed(2)} by round)`;
  return `${inWords(worth)} at concurrency ${worth.level}${isWorthOpen ? ' or more at a higher one' : ''}; the recommended level has ${share.toFixed(2)} of it${byRound}`;
}

function gainWords({ claimed: { value, low, high }, again, holds }: NonNullable<Found['gain']>): string {
  return `${times(value)} (${times(low)} to ${times(high)}) it says; again ${times(again)}, ${holds ? 'within' : 'outside'}`;
}

function costWords({ cost: { cpuUsPerRequest, requestsPerSecond, beside } }: Study): string {
  const apart = beside ? `${percent(beside.median)} of a core, ${percent(beside.most)} at most` : 'not said';
  return `${cpuUsPerRequest?.toFixed(0) ?? '-'} us of CPU a request at ${requestsPerSecond?.toFixed(0) ?? '-'} a second; beside sending ${apart}`;
}

/** A figure of many studies beside its target. */
interface Row {
  readonly figure: string;
  readonly target: string;
  readonly found: string;
  readonly met: boolean | null;
}

/** Of studies that all were made by one build. */
export function rowsOf(all: readonly Found[]): Row[] {
  const bests = all.flatMap(({ best }) => best ?? []);
  const gains = all.flatMap(({ gain }) => gain ?? []);
  const beside = all.flatMap(({ study }) => study.cost.beside ?? []);
  const shares = bests.flatMap(({ share }) => share ?? []);
  const byRound = bests.flatMap(({ shareByRound }) => shareByRound ?? []);
  return [
    count("throughput, ours over the neutral client's in turn, 0.95 to 1.05", bests, ({ inTurn }) =>
      isWithin(0.95, inTurn.throughput, 1.05),
    ),
    count('p99, the same, 0.9 to 1.1', bests, ({ inTurn }) => isWithin(0.9, inTurn.p99, 1.1)),
    count("throughput, the summary's over the neutral client's later, 0.95 to 1.05", bests, ({ claimed }) =>
      isWithin(0.95, claimed.throughput, 1.05),
    ),
    count('p99, the same, 0.9 to 1.1', bests, ({ claimed }) => isWithin(0.9, claimed.p99, 1.1)),
    share('recommended level over the worth in the budget, of medians', shares),
    share('the same, by round', byRound),
    count('the recommended level keeps the budget, by the median', all, ({ best }) => best?.keepsBudget === true),
    {
      figure: 'the same, rounds',
      target: 'not set',
      found: `${sum(bests.map(({ roundsKept }) => roundsKept))} of ${sum(bests.map(({ rounds }) => rounds))}`,
      met: null,
    },
    count('the interval of the gain holds what is measured again', gains, ({ holds }) => holds),
    {
      figure: 'CPU of the process beside sending, of a core, median (most)',
      target: 'at most 2 %',
      found:
        beside.length === 0
          ? 'not said'
          : `${percent(median(beside.map((each) => each.median)))} (${percent(Math.max(...beside.map(({ most }) => most)))})`,
      met: beside.length === 0 ? null : median(beside.map((each) => each.median)) <= 0.02,
    },
  ];
}

/** Wall times of two builds that ran the same studies in turn. */
export function wallTimeRow(now: readonly Found[], before: readonly Found[]): Row {
  const ratios = now.map(({ study }, index) => study.seconds / (before[index]?.study.seconds ?? Number.NaN));
  const ratio = median(ratios);
  const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  return {
    figure: "wall time over the earlier build's, in turn",
    target: 'at most 1.1',
    found: `${ratio.toFixed(2)} (${range})`,
    met: ratio <= 1.1,
  };
}

/** The table as Markdown. */
export function tableOf(title: string, rows: readonly Row[]): string {
  const line = ({ figure, target, found, met }: Row): string =>
    `| ${figure} | ${target} | ${found} | ${met === null ? '' : met ? 'yes' : 'no'} |`;
  return [`| ${title} | target | found | met |`, '|---|---|---|---|', ...rows.map(line)].join('\n');
}

function count<T>(figure: string, all: readonly T[], holds: (each: T) => boolean): Row {
  const held = all.filter(holds).length;
  return {
    figure,
    target: 'at least 9 of 10',
    found: `${held} of ${all.length}`,
    met: all.length === 0 ? null : held >= 0.9 * all.length,
  };
}

function share(figure: string, shares: readonly number[]): Row {
  const target = 'median at least 0.95, worst 0.85';
  if (shares.length === 0) return { figure, target, found: 'none', met: null };
  const [middle, worst] = [median([...shares]), Math.min(...shares)];
  return {
    figure,
    target,
    found: `${middle.toFixed(2)}, worst ${worst.toFixed(2)}`,
    met: middle >= 0.95 && worst >= 0.85,
  };
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
