import { median } from 'simple-statistics';
import { afterAll, expect, it } from 'vitest';
import type { LaunchedServer } from '#launch/types.ts';
import { compareConfigs } from '#triton/config/comparison.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import { makeModelRepository, startRealTriton } from '../support/real-triton.ts';

const MODEL = 'sleeper';
const LOADS = 3;
const servers: LaunchedServer[] = [];
afterAll(() => Promise.all(servers.map((server) => server.stop())));

async function serverOf(modelRepository: string, loadModels: readonly string[]) {
  const server = await startRealTriton(modelRepository, { loadModels });
  servers.push(server);
  return connectGrpc(server.grpcUrl, { loadTimeoutMs: 60_000 });
}

it('a server that takes whole configs as they are has the same config, and loads it in less than half of the time', async () => {
  const modelRepository = await makeModelRepository();
  const asItIs = await serverOf(modelRepository, [MODEL]);
  // It does not know beforehand which models it will load.
  const completing = await serverOf(modelRepository, []);
  await completing.load(MODEL);
  const config = await asItIs.modelConfig(MODEL);
  expect(compareConfigs(await completing.modelConfig(MODEL), config)).toEqual([]);

  const ratios: number[] = [];
  for (let load = 0; load < LOADS; load++) {
    const changed = { ...config, max_batch_size: 8 + load };
    const [quickMs, slowMs] = [await loadMs(asItIs, changed), await loadMs(completing, changed)];
    ratios.push(quickMs / slowMs);
    expect(compareConfigs(await completing.modelConfig(MODEL), await asItIs.modelConfig(MODEL))).toEqual([]);
  }
  expect(median(ratios)).toBeLessThan(0.5);
  await Promise.all([asItIs.close(), completing.close()]);
}, 60_000);

async function loadMs(client: Awaited<ReturnType<typeof serverOf>>, config: Parameters<typeof client.load>[1]) {
  const startMs = performance.now();
  await client.load(MODEL, config);
  return performance.now() - startMs;
}
