import type { LevelReport } from '../../profiler/level-report.ts';
import type { ModelConfig } from '../../triton/config/model-config.ts';

export type Scenario = 'offline' | 'online';

/** A level of a scenario, and the batch that it was measured with. */
export interface ScenarioRow {
  readonly batch: number;
  readonly report: LevelReport;
}

/** What all rows have in common. */
export interface ScenarioCase {
  readonly scenario: Scenario;
  readonly config: ModelConfig;
  /** The GPU's name; null for a model that runs on the CPU. */
  readonly gpu: string | null;
  readonly dataset: string;
  readonly protocol: 'grpc' | 'http';
  /** null where tensors travel. */
  readonly sharedMemory: string | null;
  /** Name and version of the server. */
  readonly server: string;
  /** What the user adds, by its name; it takes the place of a parameter of the same name. */
  readonly labels: Readonly<Record<string, string>>;
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
