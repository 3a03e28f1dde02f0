import { Command } from 'commander';
import type { Terminal } from '../../terminal.ts';
import { agentCommand } from './agent/command.ts';

/** `tritune fleet`: what runs on other machines for a study. */
export function fleetCommand(terminal: Terminal): Command {
  const command = new Command('fleet').description('what runs on other machines: agents that send load');
  for (const makeCommand of [agentCommand]) command.addCommand(makeCommand(terminal));
  return command;
}
