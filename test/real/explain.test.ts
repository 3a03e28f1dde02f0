import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { ModelExplanation, ServiceExplanation } from '#explain/explanation.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { callCli } from '../support/call-cli.ts';
import { startCli } from '../support/cli.ts';
import { freshDirectory } from '../support/run-directory.ts';

const { grpcUrl } = inject('realServer');
/** It sleeps for 4 ms and a fifth of a millisecond for each sample. */
const model = 'detector';
const client = connectGrpc(grpcUrl);
let original: ModelConfig = {};
beforeAll(async () => {
  await client.load(model);
  original = await client.modelConfig(model);
});
afterAll(async () => {
  await client.load(model, original);
  await client.close();
});

/** Explains the model with this config under Poisson traffic of another process. */
async function explain(change: Partial<ModelConfig>, perSecond: number): Promise<ModelExplanation> {
  await client.load(model, { ...original, ...change });
  const file = join(await freshDirectory(), 'explain.json');
  const load = ['--request-rate', String(perSecond), '--request-distribution', 'poisson', '--max-trials', '1'];
  const sender = startCli([
    'profile',
    '-m',
    model,
    '-u',
    grpcUrl,
    '-i',
    'grpc',
    ...load,
    '--measurement-interval',
    '60000',
  ]);
  try {
    await untilServed(100);
    const { code } = await callCli(['explain', '-m', model, '-u', grpcUrl, '--for', '12s', '--json', file]);
    expect(code).toBe(0);
  } finally {
    sender.child.kill('SIGINT');
    await sender.ended;
  }
  const { models } = JSON.parse(await readFile(file, 'utf8')) as ServiceExplanation;
  return models[0] as ModelExplanation;
}

async function untilServed(requests: number): Promise<void> {
  await expect
    .poll(async () => (await client.statistics(model))[0]?.success.count ?? 0, { timeout: 20_000 })
    .toBeGreaterThan(requests);
}

describe('explain on a real Triton', () => {
  it('names a delay that batches do not fill, and proposes a shorter one', async () => {
    const batching = { max_queue_delay_microseconds: 50_000 };
    const { causes, traffic, present, proposal, timesMs } = await explain({ dynamic_batching: batching }, 40);
    expect(causes[0]).toMatchObject({ code: 'delay-never-fills', sure: 'sure' });
    expect(traffic.requestsPerSecond.value / 40).toBeCloseTo(1, 0);
    // Its simulation of what it saw is like what it saw.
    expect((present?.latencyMs?.mean ?? 0) / timesMs.request).toBeGreaterThan(0.8);
    expect((present?.latencyMs?.mean ?? 0) / timesMs.request).toBeLessThan(1.25);
    expect(proposal?.changes.map(({ path }) => path)).toContain('dynamic_batching.max_queue_delay_microseconds');
  });

  it('names batching that is off under load', async () => {
    const { causes } = await explain({}, 200);
    expect(causes.map(({ code }) => code)).toContain('batching-off');
    expect(causes.filter(({ sure }) => sure === 'sure').map(({ code }) => code)).not.toContain('nothing');
  });
});
