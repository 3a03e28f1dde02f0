import { combinationOfService } from '#app/profile/combination-of-service.ts';
import { toServiceKind } from '#app/profile/kind-of-service.ts';
import type { ServiceKind } from '#app/profile/service.ts';
import type { AnyProtocol } from '#app/server/find-protocol.ts';
import { checkCombination } from '#spec/combinations.ts';
import { filledOptions, namesOfChanges } from '#spec/flat-options.ts';
import { type EndpointSpec, profileOptions } from '#spec/profile-spec.ts';
import type { PromptSpec } from '#workload/prompt-spec.ts';
import { filledBy } from '../../options/filled-rows.ts';
import { addOptions } from '../../options/option-table.ts';
import { type SetFlags, setOptionTable } from '../../options/set.ts';
import type { AbbreviatingCommand } from './abbreviations.ts';
import { endpointOptionTable } from './endpoint-options.ts';
import { type PlainHttpFlags, plainHttpOptionTable } from './http-options.ts';
import { type ProfileOptions, profileRows } from './options.ts';
import { addRefusedOptions, withoutAliases } from './perf-analyzer-aliases.ts';
import { addPromptAliases } from './prompt-aliases.ts';
import { promptOptionTable } from './prompt-options.ts';
import { refuseOthers } from './refused-options.ts';

type AllOptions = ProfileOptions & PlainHttpFlags & EndpointSpec & PromptSpec & SetFlags;

/** The options as they are parsed. */
export type ProfileFlags = AnyProtocol<AllOptions>;

/** A service, and the options that apply to its kind. */
export interface ServiceOptions {
  readonly kind: ServiceKind;
  readonly options: AllOptions;
}

/** The options of `tritune profile` and of perf_analyzer's drop-in. */
export const profileOptionTable = filledBy<AllOptions>(profileOptions, {
  ...profileRows,
  ...endpointOptionTable,
  ...promptOptionTable,
  ...plainHttpOptionTable,
  ...setOptionTable(profileOptions),
});

/** Replies of a language model take long and differ in length, so fewer of them must do. */
const languageDefaults = { requestTimeout: 600, precision: 5 } as const;

const mostUsed = [
  ...(['model', 'url', 'protocol', 'concurrencyRange', 'requestRateRange', 'latencyThreshold'] as const),
  ...(['percentile', 'inputData', 'csv', 'json'] as const),
];

/**
 * Adds the options of every kind of service to a command. Returns what reads its flags. Errors of
 * that: USAGE for an option that the kind of service does not have; UNSUPPORTED for one that
 * tritune does not have.
 */
export function addServiceOptions(command: AbbreviatingCommand): (flags: ProfileFlags) => Promise<ServiceOptions> {
  const { refuse } = addRefusedOptions(command);
  const prompts = addPromptAliases(command);
  addOptions(command, profileOptionTable, mostUsed);
  return async ({ set = [], ...flags }) => {
    refuse();
    const allOptions = filledOptions<ProfileFlags>(flags, profileOptions, set);
    const changed = namesOfChanges(set, profileOptions);
    const kind = toServiceKind(allOptions);
    const isStated = (name: string): boolean => changed.has(name) || command.getOptionValueSource(name) === 'cli';
    checkCombination(combinationOfService('profile', kind, allOptions));
    refuseOthers(
      kind,
      command.options.filter((option) => isStated(option.attributeName())),
      allOptions.endpoint,
    );
    const usual = Object.entries(languageDefaults).filter(([name]) => !isStated(name));
    const ofPrompts = kind === 'language' ? { ...Object.fromEntries(usual), ...prompts.resolve() } : {};
    return { kind, options: { ...(await chooseProtocolOptions(kind, allOptions)), ...ofPrompts } };
  };
}

/** A language model's endpoint says its protocol, and any URL is one of HTTP. */
async function chooseProtocolOptions(kind: ServiceKind, options: ProfileFlags): Promise<AllOptions> {
  if (kind !== 'triton') return { protocol: 'http', ...options };
  const { withProtocol } = await import('#app/server/find-protocol.ts');
  return withProtocol<AllOptions>(options, withoutAliases);
}
