import type { Command } from 'commander';
import { combinationOfService } from '../../../app/profile/services/combination-of-service.ts';
import { toServiceKind } from '../../../app/profile/services/kind-of.ts';
import type { ServiceKind } from '../../../app/profile/services/service.ts';
import type { AnyProtocol } from '../../../app/server/find-protocol.ts';
import { checkCombination } from '../../../spec/combinations.ts';
import { filledOptions, namesOfChanges } from '../../../spec/flat-options.ts';
import { type EndpointSpec, profileOptions } from '../../../spec/profile-spec.ts';
import type { PromptSpec } from '../../../workload/prompt-spec.ts';
import { addExamples, type Example } from '../../help.ts';
import { filledBy } from '../../options/filled-rows.ts';
import { addOptions } from '../../options/option-table.ts';
import { type SetFlags, setOptionTable } from '../../options/set.ts';
import type { Terminal } from '../../terminal.ts';
import { AbbreviatingCommand } from './abbreviations.ts';
import { endpointOptionTable } from './endpoint-options.ts';
import { type PlainHttpFlags, plainHttpOptionTable } from './http-options.ts';
import { type ProfileOptions, profileRows } from './options.ts';
import { addRefusedOptions, withoutAliases } from './perf-analyzer-aliases.ts';
import { addPromptAliases } from './prompt-aliases.ts';
import { promptOptionTable } from './prompt-options.ts';
import { refuseOthers } from './refused-options.ts';

type AllOptions = ProfileOptions & PlainHttpFlags & EndpointSpec & PromptSpec & SetFlags;

const table = filledBy<AllOptions>(profileOptions, {
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

const examples: readonly Example[] = [
  [
    'Sweep the concurrency over gRPC',
    'tritune profile -m resnet -u gpu-box:8001 -i grpc --concurrency-range 1:64:8 -f levels.csv',
  ],
  [
    'Measure a language model behind an OpenAI API',
    'tritune profile -m llama -u gpu-box:8000 --endpoint openai --concurrency-range 8',
  ],
  [
    'Send 200 requests per second to any URL',
    'tritune profile --service-kind http -u http://host:8080/predict --request-rate-range 200',
  ],
];

/** `tritune profile`: the load generator alone. */
export function profileCommand(terminal: Terminal): Command {
  const command = new AbbreviatingCommand('profile').description(
    "Measure a model as it is, with perf_analyzer's options; also a language model or any URL",
  );
  addExamples(command, examples, "perf_analyzer's other options are accepted too; docs/profile.md lists them.");
  const { refuse } = addRefusedOptions(command, ['--endpoint']);
  const prompts = addPromptAliases(command);
  return addOptions(command, table, mostUsed).action(async ({ set = [], ...flags }: AnyProtocol<AllOptions>) => {
    refuse();
    const allOptions = filledOptions<AnyProtocol<AllOptions>>(flags, profileOptions, set);
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
    const options = { ...(await chooseProtocolOptions(kind, allOptions)), ...ofPrompts };
    const { toExitCode, runProfile } = await import('./run.ts');
    process.exitCode = toExitCode(await runProfile(kind, options, terminal, false));
  });
}

/** A language model's endpoint says its protocol, and any URL is one of HTTP. */
async function chooseProtocolOptions(kind: ServiceKind, options: AnyProtocol<AllOptions>): Promise<AllOptions> {
  if (kind !== 'triton') return { protocol: 'http', ...options };
  const { withProtocol } = await import('../../../app/server/find-protocol.ts');
  return withProtocol<AllOptions>(options, withoutAliases);
}
