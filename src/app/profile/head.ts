import { trituneVersion } from '../../base/package.ts';
import type { ProfileHead } from '../../report/profile-json.ts';
import type { ServerIdentity } from '../../study/records/records.ts';
import { commandLineWithoutValues } from '../server/headers.ts';
import type { ProfilePlan } from './plan.ts';
import type { ProfileSpec } from './profile-spec.ts';

/** Returns the head of a profile's documents, which precedes the figures. */
export function profileHead(
  spec: ProfileSpec,
  { mode, rule }: ProfilePlan,
  { name, version, url, emulated }: Pick<ServerIdentity, keyof ProfileHead['server']>,
  model: string,
  commandLine: readonly string[],
): ProfileHead {
  return {
    schemaVersion: 1,
    trituneVersion,
    model,
    modelVersion: spec.modelVersion ?? '',
    server: { name, version, url, emulated },
    protocol: spec.protocol,
    batch: spec.batch,
    mode,
    stability: rule.kind,
    commandLine: commandLineWithoutValues(commandLine, spec),
  };
}
