import { mean } from 'simple-statistics';
import { formatFigure } from '#base/format.ts';
import type { Interval } from '#stats/interval.ts';
import { ratioOfRepeats } from '#stats/ratio.ts';

/** A figure without an interval. */
export interface PlainFigure {
  readonly name: string;
  readonly unit: string;
  readonly value: number;
}

/** Where the time of a level went: the mean latency and its parts, in milliseconds. */
export interface LevelTimes {
  /** As the subject of readings, such as `concurrency 8`. */
  readonly subject: string;
  /** What the document states without intervals; empty where readings have it. */
  readonly figures: readonly PlainFigure[];
  readonly parts: readonly PlainFigure[];
}

/** A figure of both sides; a mean over the documents of a side. */
export interface ComparedFigure {
  readonly name: string;
  readonly unit: string;
  readonly before: number;
  readonly after: number;
  /** The ratio of `after` to `before`, where both sides have several documents; null otherwise. */
  readonly ratio: Interval | null;
}

/** The figures of a level on both sides. */
export interface ComparedTimes {
  readonly subject: string;
  readonly figures: readonly ComparedFigure[];
}

type Timed = { readonly times: readonly LevelTimes[] };

/** Returns the figures and parts of each level that all documents have. */
export function compareTimes(baselines: readonly Timed[], runs: readonly Timed[]): readonly ComparedTimes[] {
  const subjects = new Set(baselines.flatMap(({ times }) => times.map(({ subject }) => subject)));
  return [...subjects].flatMap((subject): ComparedTimes[] => {
    const [before, after] = [baselines, runs].map((documents) =>
      documents.flatMap(({ times }) => times.find((each) => each.subject === subject) ?? []),
    ) as [LevelTimes[], LevelTimes[]];
    if (before.length < baselines.length || after.length < runs.length) return [];
    const valuesIn = (levels: readonly LevelTimes[], name: string): readonly number[] =>
      levels.flatMap(({ figures, parts }) => [...figures, ...parts].find((each) => each.name === name)?.value ?? []);
    const figures = [...(before[0]?.figures ?? []), ...(before[0]?.parts ?? [])].flatMap(({ name, unit }) => {
      const [old, now] = [valuesIn(before, name), valuesIn(after, name)];
      return old.length > 0 && now.length > 0 && [...old, ...now].some((value) => value > 0)
        ? [{ name, unit, before: mean([...old]), after: mean([...now]), ratio: ratioOfRepeats(old, now) }]
        : [];
    });
    return [{ subject, figures }];
  });
}

/**
 * `time at concurrency 8: queue 5.2 → 1.1 ms (-79 %), compute infer 14 → 5.8 ms (-59 %)`; of
 * several documents on each side with the interval of each change.
 */
export function timesLine({ subject, figures }: ComparedTimes): string {
  const words = figures.map(({ name, unit, before, after, ratio }) => {
    const range = ratio ? `, 95 %: ${toPercent(ratio.low)} to ${toPercent(ratio.high)} %` : '';
    const change = before > 0 ? ` (${toPercent(after / before)} %${range})` : '';
    return `${name} ${formatFigure(before)} → ${formatFigure(after)} ${unit}${change}`;
  });
  return `time at ${subject}: ${words.join(', ')}`;
}

/** 0.21 → `-79`. */
const toPercent = (ratio: number): string => `${ratio >= 1 ? '+' : ''}${Math.round((ratio - 1) * 100)}`;
