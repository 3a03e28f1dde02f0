import { inertLine, inertText } from '../base/format.ts';

/**
 * What a command may write to. The only place where the process's own streams are used; whatever a server or a file says, no
 * control character or mark of direction goes to them, but for those of the whole screen, which looks after that itself.
 */
export interface Terminal {
  /** A line of the command's output. */
  print(line: string): void;
  /** A line for the person watching, apart from the output. */
  tell(line: string): void;
  /** Shows progress on a line that the next call replaces and null clears; does nothing when nobody watches. */
  status(text: string | null): void;
  /** The terminal for a full screen; absent without one. */
  readonly canvas?: TerminalCanvas;
}

/** A terminal on both ends. */
export interface TerminalCanvas {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly hasColours: boolean;
  /** A person sits at it who can see a screen that changes: no CI, no screen reader, a terminal that can move its cursor. */
  readonly isWatched: boolean;
}

const CLEAR_LINE = '\r\u001b[K';
const FALLBACK_COLUMNS = 80;

let hasStatus = false;

function setStatus(text: string | null): void {
  if (!process.stderr.isTTY) return;
  if (text === null && !hasStatus) return;
  hasStatus = text !== null;
  // A line that wraps could not be taken back.
  process.stderr.write(CLEAR_LINE + inertLine(text ?? '').slice(0, (process.stderr.columns ?? FALLBACK_COLUMNS) - 1));
}

function canvasOf({ stdin, stdout, env }: NodeJS.Process): TerminalCanvas {
  const isInCi = ![undefined, '', '0', 'false'].includes(env.CI);
  const isReadAloud = [env.INK_SCREEN_READER, env.SCREEN_READER].some((value) => value === '1' || value === 'true');
  // https://no-color.org
  const hasColours = (env.NO_COLOR ?? '') === '';
  return { stdin, stdout, hasColours, isWatched: env.TERM !== 'dumb' && !isInCi && !isReadAloud };
}

/** Who reads what we write may go away, or its disk be full; that must not end a run that has a model to put back. */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

export const processTerminal: Terminal = {
  print: (line) => {
    process.stdout.write(`${inertText(line)}\n`);
  },
  tell: (line) => {
    process.stderr.write(`${inertText(line)}\n`);
  },
  status: setStatus,
  ...(process.stdout.isTTY && process.stdin.isTTY && { canvas: canvasOf(process) }),
};
