import { type ChildProcess, spawn } from 'node:child_process';
import type { StudyRecord } from '#study/records/records.ts';
import { cliProgram } from './cli-program.ts';
import { recordsOf } from './run-directory.ts';

/** The binary that takes the place of perf_analyzer. */
export const dropIn = cliProgram('perf-analyzer-main');

export interface CliOutcome {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCli {
  readonly child: ChildProcess;
  readonly ended: Promise<CliOutcome>;
}

interface CliSetting {
  readonly cwd?: string;
  readonly program?: string;
  /**
   * A program with its arguments that ends by becoming the command line, which it is given as more
   * arguments.
   */
  readonly through?: readonly string[];
  /** Beside the variables that the test has. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Starts the command line as a user would, in a process of its own. */
export function startCli(args: readonly string[], options: CliSetting = {}): RunningCli {
  const [file = '', ...rest] = [
    ...(options.through ?? []),
    process.execPath,
    options.program ?? cliProgram('main'),
    ...args,
  ];
  const child = spawn(file, rest, {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const ended = new Promise<CliOutcome>((done) => {
    child.on('close', (code, signal) => done({ code, signal, stdout, stderr }));
  });
  return { child, ended };
}

export const runCli = (args: readonly string[], options: CliSetting = {}): Promise<CliOutcome> =>
  startCli(args, options).ended;

/**
 * Waits until the run's journal has a record of which the test holds. Fails after a minute, or when
 * the run ended first.
 */
export async function untilRecorded(
  directory: string,
  running: RunningCli,
  test: (record: StudyRecord) => boolean,
): Promise<void> {
  for (let tries = 0; tries < 600; tries++) {
    if ((await recordsOf(directory)).some(test)) return;
    if (running.child.exitCode !== null) throw new Error(`the run ended first: ${JSON.stringify(await running.ended)}`);
    await new Promise((wake) => setTimeout(wake, 100));
  }
  throw new Error('the run did not come so far within a minute');
}
