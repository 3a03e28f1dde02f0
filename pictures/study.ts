import { execFileSync } from 'node:child_process';
import { mkdtemp, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { runCli } from '../test/support/cli.ts';
import { startRealTriton } from '../test/support/real-triton.ts';

const tutorial = resolve(import.meta.dirname, '../docs/tutorial.md');
const space = resolve(import.meta.dirname, 'space.yaml');
const goal = ['--latency-budget', '150', '--concurrency', '1:64', '--space', space, '--max-trials', '12'];

/**
 * Tunes the tutorial's model on a real Triton, which it starts and stops, with another goal and
 * space than there, and writes the report and its charts. Returns the study's directory.
 */
export async function realStudy(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), 'tritune-pictures-'));
  execFileSync('bash', ['-ec', await modelCommands()], { cwd: directory });
  const server = await startRealTriton(join(directory, 'models'));
  const study = join(directory, 'study');
  try {
    const where = ['-m', 'scorer', '-u', server.grpcUrl, '--metrics-url', server.metricsUrl, '-o', study];
    await done(['tune', ...where, ...goal, '--ui', 'lines']);
    await done(['report', study, '--plots']);
  } finally {
    await server.stop();
  }
  return study;
}

/** The commands with which the tutorial's reader writes the model. */
async function modelCommands(): Promise<string> {
  const blocks = (await readFile(tutorial, 'utf8')).matchAll(/^```sh\n([\s\S]*?)^```$/gm);
  const found = [...blocks].map(([, text]) => text as string).find((text) => text.includes('models/scorer/1/model.py'));
  if (found === undefined) throw new Error(`no commands that write models/scorer are in ${tutorial}`);
  return found;
}

async function done(args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await runCli(args);
  if (code !== 0) throw new Error(`tritune ${args.join(' ')} ended with ${code}:\n${stdout}\n${stderr}`);
}
