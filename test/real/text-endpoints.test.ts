import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Measurement } from '#profiler/measurement.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { runCli } from '../support/cli.ts';
import { freshDirectory } from '../support/run-directory.ts';

const { grpcUrl, httpUrl } = inject('realServer');
const client = connectGrpc(grpcUrl);

beforeAll(() => client.load('speaker'));
afterAll(async () => {
  await client.unload('speaker');
  await client.close();
});

describe('a text model of a real Triton', () => {
  it.each([
    ['auto', httpUrl, 'triton-generate'],
    ['auto', grpcUrl, 'triton-grpc'],
  ])('is measured by its tokens: %s at %s', async (asked, url, endpoint) => {
    const json = join(await freshDirectory(), 'out.json');
    const { code, stderr } = await runCli([
      ...['profile', '--endpoint', asked, '-u', url, '-m', 'speaker', '--concurrency-range', '4'],
      ...['--request-count', '20', '--json', json],
    ]);
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining(`by ${endpoint}`) });
    const { levels } = JSON.parse(await readFile(json, 'utf8')) as { levels: [Measurement] };
    const [{ tokens, errorRate, requests }] = levels;
    expect([requests, errorRate]).toEqual([20, 0]);
    expect(tokens).toMatchObject({ countedBy: 'usage', cutOff: 0 });
    expect(tokens?.outputTokens.mean).toBe(tokens?.outputTokens.max);
    // The model sleeps two milliseconds before each word.
    expect(tokens?.ttftMs.min).toBeGreaterThan(2);
    expect(tokens?.tpotMs.min).toBeGreaterThan(2);
  });

  it('is refused where it has no text', async () => {
    const { code, stderr } = await runCli(['profile', '--endpoint', 'triton-grpc', '-u', grpcUrl, '-m', 'mlp_onnx']);
    expect(code).toBe(2);
    expect(stderr).toContain("'mlp_onnx' has no known text input");
  });
});
