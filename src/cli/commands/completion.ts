import { Argument, Command } from 'commander';
import type { Terminal } from '../terminal.ts';
import { bashCompletion } from './completion-bash.ts';
import { fishCompletion } from './completion-fish.ts';
import { type Outline, outlineCommand } from './completion-outline.ts';
import { zshCompletion } from './completion-zsh.ts';

const shells = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/**
 * `tritune completion SHELL`: prints a completion script with the commands, options, choices and
 * files.
 */
export function completionCommand(terminal: Terminal): Command {
  return new Command('completion')
    .description('Print the completion script of a shell')
    .addHelpText('after', '\nExample:\n  source <(tritune completion bash)')
    .addArgument(new Argument('<shell>').choices(Object.keys(shells)))
    .action((shell: keyof typeof shells, _: unknown, command: Command) => {
      const root: Outline = outlineCommand(command.parent as Command);
      terminal.print(shells[shell](root).trimEnd());
    });
}
