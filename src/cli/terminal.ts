import { inertLine, inertLog, inertText } from '#base/format.ts';

/**
 * The outputs of a command. Only this module uses the process's own streams. No control character
 * or direction mark from a server or a file reaches them, and no command to a CI, except for the
 * full screen, which does its own cleaning.
 */
export interface Terminal {
  /**
   * Prints a line of the command's output. `bad`: in red, if the terminal has colours.
   * `ci-command`: a command to the CI whose log this is; no other line is one.
   */
  print(line: string, tone?: 'bad' | 'ci-command'): void;
  /** Prints a line for the person watching, separate from the output. */
  tell(line: string): void;
  /**
   * Shows progress on a line that the next call replaces and null clears; does nothing if no one
   * watches.
   */
  status(text: string | null): void;
  /** Asks the person at the terminal; absent without one, and in CI. */
  confirm?(question: string): Promise<boolean>;
  /** The terminal for a full screen; absent without one. */
  readonly canvas?: TerminalCanvas;
}

/** A terminal on both ends. */
export interface TerminalCanvas {
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly hasColours: boolean;
  /**
   * True if a person sits at it who can see a changing screen: no CI, no screen reader, a terminal
   * that can move its cursor.
   */
  readonly isWatched: boolean;
}

const CLEAR_LINE = '\r\u001b[K';
const RED = '\u001b[31m';
const DEFAULT = '\u001b[39m';
const FALLBACK_COLUMNS = 80;

let hasStatus = false;

function setStatus(text: string | null): void {
  if (!process.stderr.isTTY) return;
  if (text === null && !hasStatus) return;
  hasStatus = text !== null;
  // A wrapped line could not be cleared.
  process.stderr.write(CLEAR_LINE + inertLine(text ?? '').slice(0, (process.stderr.columns ?? FALLBACK_COLUMNS) - 1));
}

/** https://no-color.org */
const hasColours = ({ NO_COLOR = '' }: NodeJS.ProcessEnv): boolean => NO_COLOR === '';

const isInCi = ({ CI }: NodeJS.ProcessEnv): boolean => ![undefined, '', '0', 'false'].includes(CI);

function createCanvas({ stdin, stdout, env }: NodeJS.Process): TerminalCanvas {
  const isReadAloud = [env.INK_SCREEN_READER, env.SCREEN_READER].some((value) => value === '1' || value === 'true');
  return { stdin, stdout, hasColours: hasColours(env), isWatched: env.TERM !== 'dumb' && !isInCi(env) && !isReadAloud };
}

/**
 * The reader of our output may go away, or its disk may be full. That must not end a run that has a
 * model to restore.
 */
export function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
}

/** Anything but yes is no: the end of the input and Ctrl-C, too. */
async function confirm(question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline');
  const prompt = createInterface({ input: process.stdin, output: process.stderr });
  return new Promise<boolean>((resolve) => {
    prompt.on('close', () => resolve(false));
    prompt.on('SIGINT', () => prompt.close());
    prompt.question(`${inertLine(question)} [y/N] `, (answer) => {
      resolve(/^y(es)?$/i.test(answer.trim()));
      prompt.close();
    });
  });
}
const shownText = (text: string): string => inertLog(inertText(text));

export const processTerminal: Terminal = {
  print: (line, tone) => {
    const isRed = tone === 'bad' && process.stdout.isTTY && hasColours(process.env);
    const text = tone === 'ci-command' ? inertLine(line) : shownText(line);
    process.stdout.write(`${isRed ? `${RED}${text}${DEFAULT}` : text}\n`);
  },
  tell: (line) => {
    process.stderr.write(`${shownText(line)}\n`);
  },
  status: setStatus,
  ...(process.stderr.isTTY && process.stdin.isTTY && !isInCi(process.env) && { confirm }),
  ...(process.stdout.isTTY && process.stdin.isTTY && { canvas: createCanvas(process) }),
};
