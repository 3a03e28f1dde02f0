import type { LevelReport } from '#profiler/level-report.ts';

export type Scenario = 'offline' | 'online';

/** A level of a scenario, and its batch. */
export interface ScenarioRow {
  readonly batch: number;
  readonly report: LevelReport;
}

export type ScenarioParameter = readonly [name: string, value: string];

/** The common part of all rows. */
export interface ScenarioCase {
  readonly scenario: Scenario;
  /** The GPU's name, or `cpu`. */
  readonly gpu: string;
  /** Triton's name of the backend. */
  readonly backend: string;
  readonly dataset: string;
  readonly instances: number;
  /** All parameters of the measurement, for people: the names of published tables first. */
  readonly parameters: readonly ScenarioParameter[];
}

export interface ScenarioFile {
  readonly name: string;
  readonly content: string | Uint8Array;
}

/** Returns what differs from row to row. */
export const variedIn = (scenario: Scenario): 'batch' | 'concurrency' =>
  scenario === 'offline' ? 'batch' : 'concurrency';

export const findVaried = (scenario: Scenario, { batch, report }: ScenarioRow): number =>
  scenario === 'offline' ? batch : report.level.value;

const US_PER_MS = 1e3;

/** Returns the requested percentile in milliseconds. */
export const percentileMs = ({ percentilesUs }: LevelReport, wantedPercentile: number): number =>
  (percentilesUs.find(({ percentile }) => percentile === wantedPercentile)?.us ?? 0) / US_PER_MS;
