import { Command } from 'commander';
import { combinationOfService } from '#app/profile/combination-of-service.ts';
import { toServiceKind } from '#app/profile/kind-of-service.ts';
import type { ServiceKind } from '#app/profile/service.ts';
import type { AnyProtocol } from '#app/server/find-protocol.ts';
import { capacityOptions } from '#spec/capacity-spec.ts';
import { checkCombination } from '#spec/combinations.ts';
import { filledOptions, namesOfChanges } from '#spec/flat-options.ts';
import { addExamples, type Example } from '../help.ts';
import { addOptions } from '../options/option-table.ts';
import type { Terminal } from '../terminal.ts';
import { capacityOptionTable, type ParsedCapacityOptions } from './capacity-options.ts';
import { refuseOthers } from './profile/refused-options.ts';

/**
 * Our options that suit every kind of service, and that `profile` lacks or uses for other purposes.
 */
const ofAll: ReadonlySet<string> = new Set(['output', 'json', 'requestDistribution', 'burst', 'emit', 'otlp']);

const mostUsed = [
  ...(['model', 'url', 'protocol', 'latencyBudget', 'percentile', 'forRate', 'burst', 'timeBudget'] as const),
  ...(['workload', 'output'] as const),
];

const examples: readonly Example[] = [
  [
    'Find the rate that keeps the p99 latency within 50 ms',
    'tritune capacity -m resnet -u gpu-box:8001 -i grpc --latency-budget 50',
  ],
  [
    'Find the number of servers for 2000 requests per second',
    'tritune capacity -m resnet -u gpu-box:8001 -i grpc --latency-budget 50 --for-rate 2000 --headroom 20',
  ],
];

/**
 * `tritune capacity`: finds the highest request rate within a budget, and what happens beyond it.
 */
export function capacityCommand(terminal: Terminal): Command {
  const command = new Command('capacity').description(
    'Find the highest request rate that a model keeps within a latency budget',
  );
  addExamples(command, examples, 'Guide: docs/capacity.md');
  return addOptions(command, capacityOptionTable, mostUsed).action(
    async ({ set = [], ...flags }: AnyProtocol<ParsedCapacityOptions>) => {
      const options = filledOptions<AnyProtocol<ParsedCapacityOptions>>(flags, capacityOptions, set);
      const changed = namesOfChanges(set, capacityOptions);
      const kind = toServiceKind(options);
      const keptOptions = command.options.filter(
        (option) =>
          (changed.has(option.attributeName()) || command.getOptionValueSource(option.attributeName()) === 'cli') &&
          !ofAll.has(option.attributeName()),
      );
      checkCombination(combinationOfService('capacity', kind, options));
      refuseOthers(
        kind,
        keptOptions.filter((option) => !Object.hasOwn(ownNames, option.attributeName())),
        options.endpoint,
      );
      const { runCapacityCommand } = await import('./run-capacity.ts');
      process.exitCode = await runCapacityCommand(kind, await chooseProtocolOptions(kind, options), terminal);
    },
  );
}

/** A language model's endpoint says its protocol, and any URL is one of HTTP. */
async function chooseProtocolOptions(
  kind: ServiceKind,
  options: AnyProtocol<ParsedCapacityOptions>,
): Promise<ParsedCapacityOptions> {
  if (kind !== 'triton') return { protocol: 'http', ...options };
  const { withProtocol } = await import('#app/server/find-protocol.ts');
  return withProtocol<ParsedCapacityOptions>(options);
}

/** Options that `profile` does not have. */
const ownNames: Readonly<Record<string, true>> = Object.fromEntries(
  [
    ...['latencyBudget', 'timeBudget', 'recoverWithin', 'forRate', 'holdChance', 'headroom', 'replicaSpread'],
    ...['forTraffic', 'replicaStart'],
    ...['prices', 'gpu', 'serverGpus', 'instanceType'],
  ].map((name) => [name, true as const]),
);
