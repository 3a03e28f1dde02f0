import { Argument, Command } from 'commander';
import { bashCompletion } from './completion/bash.ts';
import { fishCompletion } from './completion/fish.ts';
import { type Outline, outlineOf } from './completion/outline.ts';
import { zshCompletion } from './completion/zsh.ts';
import type { Terminal } from './terminal.ts';

const shells = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion };

/** `tritune completion SHELL`: prints what teaches a shell the commands, options, choices and files. */
export function completionCommand(terminal: Terminal): Command {
  return new Command('completion')
    .description('print the completion script of a shell: source <(tritune completion bash)')
    .addArgument(new Argument('<shell>').choices(Object.keys(shells)))
    .action((shell: keyof typeof shells, _: unknown, command: Command) => {
      const root: Outline = outlineOf(command.parent as Command);
      terminal.print(shells[shell](root).trimEnd());
    });
}
