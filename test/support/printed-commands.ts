import { execFile } from 'node:child_process';

/** A step that a run printed at its end, and the command that it ends with; null for a sentence. */
export interface PrintedStep {
  readonly label: string;
  readonly command: string | null;
}

/** Returns the steps among the last lines of a run: from `next` to the state of the model. */
export function printedSteps(stdout: string): readonly PrintedStep[] {
  const lines = stdout.split('\n');
  const first = lines.findIndex((line) => line.startsWith('next '));
  if (first < 0) return [];
  const after = lines.slice(first + 1).findIndex((line) => !line.startsWith(' '));
  return lines.slice(first, first + 1 + after).map((line) => {
    const step = line.slice(11);
    const [, label = step, command = null] =
      /^([^:]+): ((?:\S*node|npx|tritune|cp|sh|'[^']*node') .*)$/.exec(step) ?? [];
    return { label, command };
  });
}

export interface ShellOutcome {
  readonly code: number;
  readonly output: string;
}

/** Runs a command as a person would who pastes it into a shell in that directory. */
export const inShell = (command: string, cwd: string, env: Readonly<Record<string, string>> = {}) =>
  new Promise<ShellOutcome>((done) => {
    execFile(
      'bash',
      ['-c', command],
      { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 26 },
      (error, stdout, stderr) => done({ code: error ? Number(error.code ?? 1) : 0, output: stdout + stderr }),
    );
  });
