import type { Command } from 'commander';

/** What `--help` of the command prints, examples included, in lines of this width. */
export function helpOf(command: Command, helpWidth: number): string {
  const parts: string[] = [];
  command
    .configureHelp({ ...command.configureHelp(), helpWidth })
    .configureOutput({ writeOut: (part) => void parts.push(part) })
    .outputHelp();
  return parts.join('');
}
