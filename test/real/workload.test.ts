import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, inject, it } from 'vitest';
import type { Measurement } from '#profiler/measurement.ts';
import { callCli } from '../support/call-cli.ts';
import { codeTrace, TRACE_RATE, TRACE_S } from '../support/code-trace.ts';
import { freshDirectory } from '../support/run-directory.ts';

/** The trace is played in a quarter of its time, its rates as they are. */
const TIME_SCALE = 0.25;

it('replays a published trace on a real Triton at 0.5, 1 and 2 times its rate', async () => {
  const directory = await freshDirectory();
  const [file, json] = [join(directory, 'code.json'), join(directory, 'r.json')];
  await writeFile(file, JSON.stringify(codeTrace(10_000)));
  for (const times of [0.5, 1, 2]) {
    const rate = times * TRACE_RATE;
    const args = ['profile', '-m', 'mlp_onnx', '-u', inject('realServer').grpcUrl, '-i', 'grpc', '--workload', file];
    const asked = [`--request-rate-range=${rate}`, `--time-scale=${TIME_SCALE}`, '--passes', '1', '--json', json];
    expect(await callCli([...args, ...asked])).toMatchObject({ code: 0 });
    const [level] = JSON.parse(await readFile(json, 'utf8')).levels as [Measurement];
    expect(level.level).toEqual({ mode: 'request-rate', value: expect.closeTo(rate, 6) });
    expect(level.requests / (rate * TRACE_S * TIME_SCALE)).toBeCloseTo(1, 1);
    expect([level.windows, level.errorRate]).toEqual([1, 0]);
    // All that came were answered, each in time.
    expect(level.goodput?.value).toBeCloseTo(level.throughput.value, 6);
    expect(level.server?.successCount).toBeGreaterThan(0.9 * level.requests);
  }
}, 120_000);
