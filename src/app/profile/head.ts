import { trituneVersion } from '#base/package.ts';
import type { Machine } from '#profiler/machine.ts';
import type { ProfileHead } from '#report/profile-json.ts';
import type { ProfileSpec } from '#spec/profile-spec.ts';
import { commandLineWithoutValues } from '../server/headers.ts';
import type { Service } from './service.ts';

/** Returns the head of a profile's documents, which precedes the figures. */
export function profileHead(
  spec: ProfileSpec,
  { model, server, protocol, endpoint, plan: { mode, rule } }: Service,
  commandLine: readonly string[],
  assumptions: readonly string[],
  machine: Machine,
): ProfileHead {
  return {
    schemaVersion: 1,
    trituneVersion,
    model,
    modelVersion: spec.modelVersion ?? '',
    server: { ...server, machine },
    protocol,
    batch: spec.batch,
    mode,
    stability: rule.kind,
    commandLine: commandLineWithoutValues(commandLine, spec),
    ...(endpoint !== undefined && { endpoint }),
    ...(assumptions.length > 0 && { assumptions: [...assumptions] }),
  };
}
