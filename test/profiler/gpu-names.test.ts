import { describe, expect, it } from 'vitest';
import { readGpuName, UNKNOWN_GPU } from '#app/profile/gpu-name.ts';
import type { FollowLines } from '#launch/follow-lines.ts';
import { gpuNames } from '#profiler/devices/gpu-names.ts';

const telling =
  (...lines: readonly string[]): FollowLines =>
  (_, __, onLine) => {
    for (const line of lines) onLine(line);
    return { ended: Promise.resolve(), stop: async () => undefined };
  };

describe("the names of a machine's GPUs", () => {
  it('are those that the driver tells, by UUID', async () => {
    const names = await gpuNames(telling('GPU-1a, NVIDIA A30', 'GPU-2b, NVIDIA RTX A6000 ', 'No devices were found'));
    expect([...names]).toEqual([
      ['GPU-1a', 'NVIDIA A30'],
      ['GPU-2b', 'NVIDIA RTX A6000'],
    ]);
  });
});

describe('the GPU of a scenario', () => {
  const server = (emulated: string | null, url = 'gpu-host.test:8001') =>
    ({ server: { emulated, url } }) as Parameters<typeof readGpuName>[0];
  const on = (kind: 'KIND_CPU' | 'KIND_GPU') => ({ instance_group: [{ kind }] });
  const measured = { device: { gpus: [{ uuid: 'GPU-1a' }] } };

  it.each([
    ['none for a model on the CPU', server(null), on('KIND_CPU'), null],
    ["the profile's of an emulated server", server('tft-a30'), on('KIND_GPU'), 'emulated (tft-a30)'],
    ["the UUID on another machine, whose driver's tool is not here", server(null), on('KIND_GPU'), 'GPU-1a'],
  ])('is %s', async (_, opened, config, name) => {
    expect(await readGpuName(opened, config, measured)).toBe(name);
  });

  it('is said to be unknown where a model is on a GPU that nobody names', async () => {
    expect(await readGpuName(server(null), on('KIND_GPU'), undefined)).toBe(UNKNOWN_GPU);
  });
});
