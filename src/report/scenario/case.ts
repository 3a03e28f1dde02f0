import type { LevelReport } from '../../profiler/level-report.ts';

export type Scenario = 'offline' | 'online';

/** A level of a scenario, and the batch that it was measured with. */
export interface ScenarioRow {
  readonly batch: number;
  readonly report: LevelReport;
}

export type Parameter = readonly [name: string, value: string];

/** What all rows have in common. */
export interface ScenarioCase {
  readonly scenario: Scenario;
  /** The GPU's name, or `cpu`. */
  readonly gpu: string;
  /** By Triton's name. */
  readonly backend: string;
  readonly dataset: string;
  readonly instances: number;
  /** All that the rows were measured with, for people: the names of published tables first. */
  readonly parameters: readonly Parameter[];
}

export interface ScenarioFile {
  readonly name: string;
  readonly content: string | Uint8Array;
}

/** What changes from row to row. */
export const variedIn = (scenario: Scenario): 'batch' | 'concurrency' =>
  scenario === 'offline' ? 'batch' : 'concurrency';

export const variedOf = (scenario: Scenario, { batch, report }: ScenarioRow): number =>
  scenario === 'offline' ? batch : report.level.value;

const US_PER_MS = 1e3;

/** Returns the wanted percentile in milliseconds. */
export const percentileMs = ({ percentilesUs }: LevelReport, wanted: number): number =>
  (percentilesUs.find(({ percentile }) => percentile === wanted)?.us ?? 0) / US_PER_MS;
