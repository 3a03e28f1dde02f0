import { createProgram } from '#cli/program.ts';

/** What a command line asks for, and what of it the program does not know. */
export interface ParsedLine {
  readonly unknown: readonly string[];
  readonly options: Readonly<Record<string, unknown>>;
}

/** Parses arguments as the program would, without running anything. */
export async function parseCommandLine(args: readonly string[]): Promise<ParsedLine> {
  let command = await createProgram({ print: () => undefined, tell: () => undefined, status: () => undefined }, args);
  const rest = [...args];
  for (;;) {
    const inner = command.commands.find((each) => each.name() === rest[0]);
    if (!inner) break;
    command = inner;
    rest.shift();
  }
  const { operands, unknown } = command.parseOptions(rest);
  return { unknown: [...operands, ...unknown], options: command.opts() };
}
