import type { Command } from 'commander';
import type { Terminal } from '../terminal.ts';
import { OtherNameOption } from './option-table.ts';

/** Takes another name of an option for the option; a former one says so. */
export function takeOtherNames(command: Command, { tell }: Terminal): void {
  // Commander's own listener has parsed the value.
  for (const other of command.options.filter((each) => each instanceof OtherNameOption))
    command.on(`option:${other.name()}`, () => {
      if (other.isFormer) tell(`${other.long} is now ${other.now.long}, and will go`);
      const value: unknown = command.getOptionValue(other.attributeName());
      command.setOptionValueWithSource(other.now.attributeName(), value, 'cli');
      // Nothing is given by two names.
      command.setOptionValueWithSource(other.attributeName(), undefined, 'default');
    });
}
