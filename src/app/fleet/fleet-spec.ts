import { TrituneError } from '../../base/errors.ts';
import type { StudySpec } from '../../spec/study-spec.ts';

/** Errors: USAGE for a study that a fleet cannot run: each server must be a Triton with its own worker. */
export function checkFleetSpec({ adapter, server, trace, traffic, workloads }: StudySpec): void {
  const wrong = [
    [adapter !== undefined, '--adapter'],
    [server.launch !== undefined, '--launch'],
    [server.launchCommand !== undefined, '--launch-command'],
    [server.endpoint !== undefined, '--endpoint'],
    [trace === true, '--trace'],
    [workloads !== undefined, '--workload'],
    [traffic.agents !== undefined, '--agents'],
    [server.url !== undefined, '--url'],
  ].find(([isGiven]) => isGiven);
  if (!wrong) return;
  throw new TrituneError(
    'USAGE',
    `${wrong[1]} cannot be used with --fleet`,
    'leave it out: the workers name the servers, with tritune fleet worker --server HOST:8001',
  );
}

/** The study's spec on a worker's own server. */
export const onServer = (spec: StudySpec, server: StudySpec['server']): StudySpec => ({
  ...spec,
  server: { ...server, restore: spec.server.restore, ...(spec.server.protect && { protect: spec.server.protect }) },
});
