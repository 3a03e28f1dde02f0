import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCli } from '../test/support/cli.ts';
import { makeModelRepository, startRealTriton } from '../test/support/real-triton.ts';

const MODEL = 'encoder';
const study = ['--latency-budget', '40', '--time-budget', '90s', '--concurrency', '1:64'];

/** Tunes a model on a real Triton, which it starts and stops, and writes its report and charts. Returns the study's directory. */
export async function realStudy(): Promise<string> {
  const directory = join(await mkdtemp(join(tmpdir(), 'tritune-pictures-')), 'study');
  const server = await startRealTriton(await makeModelRepository());
  try {
    const where = ['-m', MODEL, '-u', server.grpcUrl, '--metrics-url', server.metricsUrl, '-o', directory];
    await done(['tune', ...where, ...study, '--ui', 'lines']);
    await done(['report', directory, '--plots']);
  } finally {
    await server.stop();
  }
  return directory;
}

async function done(args: readonly string[]): Promise<void> {
  const { code, stdout, stderr } = await runCli(args);
  if (code !== 0) throw new Error(`tritune ${args.join(' ')} ended with ${code}:\n${stdout}\n${stderr}`);
}
