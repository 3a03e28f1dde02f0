import type { LevelReport } from '../profiler/level-report.ts';

/** What was profiled, and how. */
export interface ProfileHead {
  readonly schemaVersion: 1;
  readonly trituneVersion: string;
  readonly model: string;
  readonly modelVersion: string;
  readonly server: {
    readonly name: string;
    readonly version: string;
    readonly url: string;
    readonly emulated: string | null;
  };
  readonly protocol: 'grpc' | 'http';
  /** How the language model was asked. */
  readonly endpoint?: string;
  readonly batch: number;
  readonly mode: 'concurrency' | 'request-rate';
  readonly stability: string;
  readonly commandLine: readonly string[];
}

/**
 * Returns one level: whether it was within the limit, and the whole measurement. Latencies in
 * milliseconds.
 */
export function levelJson({ measurement, isWithinLimit }: LevelReport): object {
  return { withinLatencyThreshold: isWithinLimit, ...measurement };
}

/** Returns the whole run as one document. */
export function profileJson(head: ProfileHead, reports: readonly LevelReport[]): object {
  return { ...head, levels: reports.map(levelJson) };
}
