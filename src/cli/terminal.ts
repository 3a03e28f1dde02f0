/** What a command may write to. The only place where the process's own streams are used. */
export interface Terminal {
  /** A line of the command's output. */
  print(line: string): void;
  /** A line for the person watching, apart from the output. */
  tell(line: string): void;
  readonly isInteractive: boolean;
}

export const processTerminal: Terminal = {
  print: (line) => {
    process.stdout.write(`${line}\n`);
  },
  tell: (line) => {
    process.stderr.write(`${line}\n`);
  },
  isInteractive: Boolean(process.stdout.isTTY),
};
