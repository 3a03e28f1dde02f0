import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import headless, { type IBuffer } from '@xterm/headless';
import { cliProgram } from '../support/cli-program.ts';

const program = resolve(import.meta.dirname, '../support/pseudo_terminal.py');
/**
 * A final takes ten seconds, and several times as long beside busy processes; what never comes ends
 * with its process before.
 */
const LONGEST_WAIT_MS = 100_000;

/** The command line on a real pseudo-terminal, and what a person there would see and do. */
export interface Sitting {
  press(keys: string): void;
  resize(columns: number, rows: number): void;
  signal(number: number): void;
  /** What is to be seen. */
  screen(): Promise<string>;
  /** The same with its colours, cell by cell. */
  cells(): Promise<IBuffer>;
  readonly isAlternate: () => boolean;
  /**
   * Resolves when the screen has a text of this form. Fails after half a minute, or when the
   * command ended without it.
   */
  until(form: RegExp): Promise<string>;
  readonly ended: Promise<number>;
  /** Ends the command, if it has not ended: in order, or by force after some seconds. */
  leave(): Promise<void>;
  /** All that the terminal got, without its control characters. */
  readonly written: () => string;
  /** Whether it was ever asked for its alternate screen. */
  readonly wasAlternate: () => boolean;
}

/** Sits down at a terminal and starts `tritune` with these arguments. */
export function sitDown(
  args: readonly string[],
  { columns = 80, rows = 24, env = {}, cwd = process.cwd() } = {},
): Sitting {
  const child = spawn(
    'python3',
    [program, String(columns), String(rows), process.execPath, cliProgram('main'), ...args],
    {
      env: { ...process.env, TERM: 'xterm-256color', CI: '', NO_COLOR: '', NODE_ENV: 'production', ...env },
      cwd,
      stdio: ['pipe', 'pipe', 'pipe'],
    },
  );
  const terminal = new headless.Terminal({ cols: columns, rows, allowProposedApi: true, scrollback: 1000 });
  let [written, errors, hasEnded] = ['', '', false];
  child.stdout.on('data', (chunk: Buffer) => {
    written += chunk.toString();
    terminal.write(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
  });
  const ended = new Promise<number>((done, fail) => {
    child.on('close', () => {
      hasEnded = true;
      const outcome = /\{"code": (-?\d+)\}/.exec(errors);
      if (outcome) done(Number(outcome[1]));
      else fail(new Error(`the pseudo-terminal failed: ${errors}`));
    });
  });
  // Whoever has left may not wait for it, and the terminal of one who has takes no keys.
  ended.catch(() => undefined);
  child.stdin.on('error', () => undefined);
  const order = (what: object): void => void child.stdin.write(`${JSON.stringify(what)}\n`);
  const cells = async (): Promise<IBuffer> => {
    await new Promise<void>((drawn) => terminal.write('', drawn));
    return terminal.buffer.active;
  };
  const screen = async (): Promise<string> => {
    const active = await cells();
    const lines = Array.from({ length: active.length }, (_, y) => active.getLine(y)?.translateToString(true) ?? '');
    return lines.join('\n').trimEnd();
  };
  return {
    press: (keys) => order({ keys }),
    resize: (width, height) => {
      terminal.resize(width, height);
      order({ resize: [width, height] });
    },
    signal: (number) => order({ signal: number }),
    screen,
    cells,
    isAlternate: () => terminal.buffer.active.type === 'alternate',
    until: async (form) => {
      for (const endMs = performance.now() + LONGEST_WAIT_MS; performance.now() < endMs; ) {
        const seen = await screen();
        if (form.test(seen)) return seen;
        if (hasEnded) break;
        await new Promise((wake) => setTimeout(wake, 50));
      }
      throw new Error(`no ${form} on the screen:\n${await screen()}\n${errors}`);
    },
    ended,
    leave: async () => {
      child.stdin.end();
      await ended.catch(() => undefined);
    },
    wasAlternate: () => written.includes('\u001b[?1049h'),
    written: () => stripVTControlCharacters(written),
  };
}
