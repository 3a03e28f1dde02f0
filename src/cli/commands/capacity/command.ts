import { Command } from 'commander';
import { addOptions } from '../../options/option-table.ts';
import type { Terminal } from '../../terminal.ts';
import { refuseOthers, serviceKindOf } from '../profile/service-kind.ts';
import { type CapacityOptions, capacityOptionTable } from './options.ts';

/** Options of ours that `profile` has for other purposes, or not at all, and that suit every kind of service. */
const ofAll: ReadonlySet<string> = new Set(['output', 'json', 'requestDistribution', 'burst']);

/** `tritune capacity`: the highest request rate within a budget, and what lies beyond it. */
export function capacityCommand(terminal: Terminal): Command {
  const command = new Command('capacity').description(
    'find the highest request rate that a served model keeps within a budget, what happens beyond it, how much burst it stands, and how many replicas a rate needs',
  );
  return addOptions(command, capacityOptionTable).action(async (options: CapacityOptions) => {
    const kind = serviceKindOf(options);
    const given = command.options.filter(
      (option) => command.getOptionValueSource(option.attributeName()) === 'cli' && !ofAll.has(option.attributeName()),
    );
    refuseOthers(
      kind,
      given.filter((option) => !Object.hasOwn(ownNames, option.attributeName())),
    );
    const { runCapacityCommand } = await import('./run.ts');
    process.exitCode = await runCapacityCommand(kind, options, terminal);
  });
}

/** Options that `profile` does not know. */
const ownNames: Readonly<Record<string, true>> = Object.fromEntries(
  ['latencyBudget', 'maxDuration', 'recoverWithin', 'forRate', 'chance', 'headroom', 'replicaSpread'].map((name) => [
    name,
    true as const,
  ]),
);
