/** What a command may write to. The only place where the process's own streams are used. */
export interface Terminal {
  /** A line of the command's output. */
  print(line: string): void;
  /** A line for the person watching, apart from the output. */
  tell(line: string): void;
  /** What is being done now, on a line of its own that the next call replaces and null takes away; nothing without a person watching. */
  status(text: string | null): void;
  readonly isInteractive: boolean;
}

const CLEAR_LINE = '\r\u001b[K';
const FALLBACK_COLUMNS = 80;

let hasStatus = false;

function setStatus(text: string | null): void {
  if (!process.stderr.isTTY) return;
  if (text === null && !hasStatus) return;
  hasStatus = text !== null;
  // A line that wraps could not be taken back.
  process.stderr.write(CLEAR_LINE + (text ?? '').slice(0, (process.stderr.columns ?? FALLBACK_COLUMNS) - 1));
}

export const processTerminal: Terminal = {
  print: (line) => {
    process.stdout.write(`${line}\n`);
  },
  tell: (line) => {
    process.stderr.write(`${line}\n`);
  },
  status: setStatus,
  isInteractive: Boolean(process.stdout.isTTY),
};
