import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { runCli, startCli } from '../support/cli.ts';
import { failuresIn, freshDirectory, summaryOf } from '../support/run-directory.ts';
import { ownObjects } from '../support/shared-memory-suite.ts';
import { buildStandInCuda } from '../support/stand-in-cuda.ts';

let env: Record<string, string> = {};
beforeAll(async () => {
  env = { LD_LIBRARY_PATH: await buildStandInCuda() };
});

/** Of the emulator's GPU, through the stand-in for the driver. */
describe("tensors in a GPU's memory", { timeout: 120_000 }, () => {
  const target = ['--launch', 'emulator:demo', '-m', 'yolov7', '--shared-memory', 'cuda'];

  it.each([
    ['grpc', '2'],
    ['http', '1'],
  ])('go with profile, over %s and from %s threads', async (protocol, threads) => {
    const how = ['-i', protocol, '--client-threads', threads, '--concurrency-range', '4'];
    const { code, stdout } = await runCli(['profile', ...target, ...how, '--request-count', '60'], { env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Concurrency: 4, throughput: /m);
  });

  it('go with tune, through reloads, and leave nothing', async () => {
    const directory = join(await freshDirectory(), 'study');
    const goal = ['--latency-budget', '800', '--max-trials', '2', '--concurrency', '4:8', '--precision', '20'];
    const how = [...goal, '--ui', 'lines', '-o', directory];
    const { child, ended } = startCli(['tune', ...target, ...how], { env });
    expect(await ended).toMatchObject({ code: 0 });
    expect(await summaryOf(directory)).toMatchObject({ feasible: true, restored: { verified: true } });
    expect(await failuresIn(directory)).toEqual([]);
    expect(ownObjects(child.pid)).toEqual([]);
  });

  it('are refused in one line where there is no driver', async () => {
    const { code, stderr } = await runCli(['profile', ...target, '--concurrency-range', '4']);
    expect(code).toBe(2);
    expect(stderr).toMatch(
      /^tritune: UNSUPPORTED: the CUDA driver, libcuda\.so\.1, cannot be used: .*\(use --shared-memory system, or [^\n]*\)\n$/,
    );
  });
});
