import { createServer } from 'node:http';
import { expect, it, onTestFinished } from 'vitest';
import type { Addresses } from '#app/server/addresses.ts';
import { findMetrics } from '#app/server/find-metrics.ts';

/** A page on a free port. */
async function pageServer(page: string): Promise<number> {
  const server = createServer((_, response) => response.end(page));
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return (server.address() as { port: number }).port;
}

const usual = 'http://127.0.0.1:8002/metrics';
const at = (grpcPort: number): Addresses => {
  const url = `127.0.0.1:${grpcPort}`;
  return { protocol: 'grpc', url, control: { url, isGuess: false }, metricsUrl: usual };
};

it("metrics are at the given address, or after gRPC's port where a Triton has its page, or at 8002", async () => {
  const own = await pageServer('nv_cpu_utilization 0.5\n');
  expect(await findMetrics('http://gpu:9/metrics', at(own - 1), { verify: true })).toBe('http://gpu:9/metrics');
  expect(await findMetrics(undefined, at(own - 1), { verify: true })).toBe(`http://127.0.0.1:${own}/metrics`);
  const http = { ...at(0), protocol: 'http', url: `127.0.0.1:${own - 2}`, control: null } as const;
  expect(await findMetrics(undefined, http, { verify: true })).toBe(`http://127.0.0.1:${own}/metrics`);
  expect(await findMetrics(undefined, at(8001), { verify: true })).toBe(usual);
  const other = await pageServer('go_goroutines 5\n');
  expect(await findMetrics(undefined, at(other - 1), { verify: true })).toBe(usual);
});
