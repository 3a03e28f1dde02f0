import { trituneVersion } from '../base/version.ts';
import type { ProfileHead } from '../report/profile-json.ts';
import type { ServerIdentity } from '../study/records.ts';
import { commandLineWithoutValues } from './header-options.ts';
import type { ProfileOptions } from './profile-options.ts';
import type { ProfilePlan } from './profile-plan.ts';

/** What the documents of a profile say of it before its figures. */
export function profileHead(
  options: ProfileOptions,
  { mode, rule }: ProfilePlan,
  { name, version, url, emulated }: ServerIdentity,
  model: string,
): ProfileHead {
  return {
    schemaVersion: 1,
    trituneVersion,
    model,
    modelVersion: options.modelVersion ?? '',
    server: { name, version, url, emulated },
    protocol: options.protocol,
    batch: options.batch,
    mode,
    stability: rule.kind,
    commandLine: commandLineWithoutValues(process.argv.slice(2), options),
  };
}
