import { execFile, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';
import { promisify } from 'node:util';

const TIMEOUT_MS = 300_000;

/**
 * Runs a program to its end. Returns its standard output. Errors: if it does not start, exit with
 * 0, or end in time.
 */
export async function run(
  file: string,
  args: readonly string[],
  { timeoutMs = TIMEOUT_MS, env = process.env }: { readonly timeoutMs?: number; readonly env?: NodeJS.ProcessEnv } = {},
): Promise<string> {
  const { stdout } = await promisify(execFile)(file, args, { env, timeout: timeoutMs, maxBuffer: 64e6 });
  return stdout;
}

/**
 * Runs a program, shows its output and stores it in a file. Interrupts it when its time is over.
 * Returns its exit code and output.
 */
export async function follow(
  file: string,
  args: readonly string[],
  { env, log, seconds }: { readonly env: NodeJS.ProcessEnv; readonly log: string; readonly seconds: number },
): Promise<{ readonly code: number | null; readonly output: string }> {
  const child = spawn(file, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const kept = createWriteStream(log, { flags: 'a' });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
      process.stdout.write(chunk);
      kept.write(chunk);
    });
  }
  const deadline = setTimeout(() => child.kill('SIGINT'), seconds * 1000);
  const code = await new Promise<number | null>((done, fail) => child.on('error', fail).on('close', done));
  clearTimeout(deadline);
  await new Promise<void>((done) => kept.end(done));
  return { code, output };
}
