import type { Combination, Extra, LoadKind, Subject } from './combinations.ts';
import { toRequestKind } from './request-kind.ts';
import type { StudySpec } from './study-spec.ts';
import type { TransportSpec } from './traffic-spec.ts';

/** Returns what a study combines. `isFleet`: its trials are shared by the workers of a fleet. */
export function toCombination(spec: StudySpec, isFleet = false): Combination {
  const { traffic } = spec;
  return {
    subject: toSubject(spec),
    driver: 'tune',
    load: formatLoad(spec),
    extras: [...listExtras(traffic), ...(isFleet ? (['fleet'] as const) : [])],
  };
}

function toSubject(spec: StudySpec): Subject {
  const kind = toRequestKind(spec);
  if (kind === 'http') return 'plain HTTP';
  if (kind === 'prompts') return promptSubject(spec.server.endpoint);
  // Whether a model is an ensemble, or calls others, is known once the server was asked; both are
  // refused what one model is.
  return (spec.together?.models ?? []).length > 1 ? 'several models' : 'one model';
}

/** Returns the subject behind an endpoint of a language model. */
export function promptSubject(endpoint: string | undefined): Subject {
  if (endpoint === 'triton-generate') return 'Triton generate';
  return endpoint === 'triton-grpc' ? 'Triton gRPC' : 'OpenAI';
}

function formatLoad({ workloads, levels }: StudySpec): LoadKind {
  if (workloads) return 'workload';
  if (levels.batch) return 'batch sizes';
  return levels.requestRate ? 'request rate' : 'concurrency';
}

/** Returns what the options say about how requests travel, and who sends them. */
export function listExtras({
  sharedMemory = 'none',
  streaming,
  outputTolerance,
  agents,
}: TransportSpec & {
  readonly outputTolerance?: number | undefined;
  readonly agents?: readonly string[] | undefined;
}): readonly Extra[] {
  return [
    ...(sharedMemory === 'none' ? [] : (['shared memory'] as const)),
    ...(outputTolerance === undefined ? [] : (['expected outputs'] as const)),
    ...(streaming ? (['streams'] as const) : []),
    ...(agents ? (['agents'] as const) : []),
  ];
}
