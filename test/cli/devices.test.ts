import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { TritonIdentity } from '#app/server/addresses.ts';
import { listDevices } from '#app/server/devices.ts';
import { fakeNvidiaSmi, pathWith } from '../support/nvidia-smi.ts';

const counted = (model: string) => `nv_inference_request_success{model="${model}",version="1"} 0\n`;
let models = '';
const page = createServer((_, response) => response.end(`${models}nv_cpu_utilization 0.5\n`));
let metricsUrl = '';
let tool = '';
beforeEach(async () => {
  await new Promise<void>((done) => page.listen(0, '127.0.0.1', done));
  metricsUrl = `http://127.0.0.1:${(page.address() as AddressInfo).port}/metrics`;
  tool = await fakeNvidiaSmi(['GPU-a, 40, 2000, 8000, 120.5, 1980', 'GPU-b, [N/A], 1000, 8000, [N/A], [N/A]']);
  vi.stubEnv('PATH', pathWith(tool));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  models = '';
  page.closeAllConnections();
  await new Promise((done) => page.close(done));
});

const read = async (url: string, emulated: string | null = null) => {
  const server = { url, emulated } as TritonIdentity;
  const devices = listDevices({ server, metricsUrl, metricsTls: { verify: true } }, 'm');
  const reading = await devices.probe(new AbortController().signal);
  await devices.close();
  return reading;
};

const isRunning = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe("a server's devices", () => {
  it.each(['localhost:8001', '127.0.0.1:9', '[::1]:8001', `${hostname()}:8001`])(
    "have the GPUs of this machine's driver at %s, and leave nothing running",
    async (url) => {
      expect(await read(url)).toEqual({
        cpuUtilizationPercent: 50,
        gpuUtilizationPercent: 40,
        gpuMemoryMiB: 3000,
        gpuPowerW: 120.5,
        gpus: [
          {
            uuid: 'GPU-a',
            utilizationPercent: 40,
            memoryBytes: 2000 * 2 ** 20,
            memoryTotalBytes: 8000 * 2 ** 20,
            powerW: 120.5,
            clockMhz: 1980,
          },
          { uuid: 'GPU-b', memoryBytes: 1000 * 2 ** 20, memoryTotalBytes: 8000 * 2 ** 20 },
        ],
      });
      const pid = Number(await readFile(join(tool, 'started'), 'utf8'));
      expect(isRunning(pid)).toBe(false);
    },
  );

  it.each<[string, string, string | null]>([
    ['of another machine', 'gpu-box:8001', null],
    ['that are emulated', 'localhost:8001', 'demo'],
  ])('%s are not this machine', async (_, url, emulated) => {
    expect(await read(url, emulated)).toEqual({ cpuUtilizationPercent: 50 });
    await expect(readFile(join(tool, 'started'), 'utf8')).rejects.toThrow();
  });

  it('are on the page of the server that has the model, not of another one at the usual port', async () => {
    models = counted('a') + counted('m');
    expect(await read('gpu-box:8001')).toEqual({ cpuUtilizationPercent: 50 });
    models = counted('a') + counted('mm');
    expect(await read('gpu-box:8001')).toBeNull();
  });

  it('are those of the page where this machine has no such tool', async () => {
    vi.stubEnv('PATH', '/nowhere');
    expect(await read('localhost:8001')).toEqual({ cpuUtilizationPercent: 50 });
  });
});
