import { listExtras, promptSubject } from '#spec/combination-of.ts';
import type { Combination, Driver, LoadKind, Subject } from '#spec/combinations.ts';
import type { ServiceKind, ServiceSpec } from './service.ts';

type Combined = Pick<
  ServiceSpec,
  | 'model'
  | 'endpoint'
  | 'protocol'
  | 'workload'
  | 'scenario'
  | 'batchSizes'
  | 'requestRateRange'
  | 'sharedMemory'
  | 'streaming'
  | 'outputTolerance'
  | 'agents'
>;

/** Returns what a command on a service as it is combines. */
export function combinationOfService(
  driver: Exclude<Driver, 'tune'>,
  kind: ServiceKind,
  options: Partial<Combined>,
): Combination {
  return { subject: toSubject(kind, options), driver, load: formatLoad(driver, options), extras: listExtras(options) };
}

function toSubject(kind: ServiceKind, { model, endpoint, protocol }: Partial<Combined>): Subject {
  if (kind === 'triton') return model?.includes(',') ? 'several models' : 'one model';
  return kind === 'http' ? 'plain HTTP' : promptSubject(protocol === 'grpc' ? 'triton-grpc' : endpoint);
}

function formatLoad(driver: Driver, options: Partial<Combined>): LoadKind {
  const { workload, scenario, batchSizes, requestRateRange } = options;
  if (workload !== undefined) return 'workload';
  if (driver === 'capacity') return 'request rate';
  if (scenario === 'offline' || batchSizes) return 'batch sizes';
  return requestRateRange ? 'request rate' : 'concurrency';
}
