import { expect, inject, it } from 'vitest';
import { realClock } from '#base/clock.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import type { RequestSet } from '#loadgen/types.ts';
import { measureLevel } from '#profiler/measure-level.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { agentForTest, agentsForTest } from '../support/agents.ts';

const { grpcUrl } = inject('realServer');
const about = { model: 'sleeper', version: '', batch: 1 };
const requests: RequestSet = {
  ...about,
  requests: [{ ...about, inputs: [{ name: 'INPUT', datatype: 'FP32', shape: [1, 8], raw: new Uint8Array(32) }] }],
};

it('what two agents send a real Triton counts as theirs, all of it', async () => {
  const options = { url: grpcUrl, timeoutMs: 10_000 };
  const workers = await agentsForTest([await agentForTest(), await agentForTest()], { protocol: 'grpc', options });
  const [stats, unused] = [connectGrpc(grpcUrl), openTransport('grpc', options)];
  const measurement = await measureLevel({
    transport: unused,
    openFlow: (order) => workers.openFlow(order),
    watchClient: workers.watchClient,
    requests,
    stats,
    clock: realClock,
    percentile: 99,
    level: { mode: 'concurrency', value: 6 },
    signal: new AbortController().signal,
    windows: { minWindowMs: 250, minWindows: 3, maxWindows: 4 },
  }).finally(async () => {
    await stats.close();
    await unused.close();
  });
  const { errorRate, foreignRequests, server, requests: counted, client } = measurement;
  expect([errorRate, foreignRequests]).toEqual([0, undefined]);
  expect((server?.successCount ?? 0) / counted).toBeGreaterThan(0.8);
  expect((server?.successCount ?? 0) / counted).toBeLessThan(1.2);
  expect(client.agents).toHaveLength(2);
});
