import { describe, expect, it } from 'vitest';
import type { FollowLines } from '#launch/follow-lines.ts';
import { gpuOfLine, nvidiaSmi, withGpus } from '#profiler/devices/nvidia-smi.ts';
import type { DeviceMetrics } from '#profiler/server-figures.ts';

const A = 'GPU-11111111-2222-3333-4444-555555555555';
const B = 'GPU-66666666-7777-8888-9999-000000000000';
const MIB = 2 ** 20;

/**
 * A tool that tells these lines twice at once, then what it is told to, and counts how often it was
 * started.
 */
function told(...first: readonly string[]) {
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const none = (_: string): void => undefined;
  const tool = { starts: 0, args: [] as readonly string[], tell: none, tellProgram: none, end, nowNs: 0 };
  const follow: FollowLines = (_, args, onLine) => {
    if (args[0]?.startsWith('--query-compute-apps=')) {
      tool.tellProgram = onLine;
      return { ended: Promise.resolve(), stop: () => Promise.resolve() };
    }
    Object.assign(tool, { starts: tool.starts + 1, args, tell: onLine });
    for (const line of [...first, ...first]) onLine(line);
    return {
      ended,
      stop: async () => {
        end();
        await ended;
      },
    };
  };
  return { tool, source: nvidiaSmi(follow, () => tool.nowNs) };
}

describe('a line of nvidia-smi', () => {
  it('has the figures of one GPU, in the units of measurements', () => {
    expect(gpuOfLine(`${A}, 37, 1024, 143771, 245.60, 1725`)).toEqual({
      uuid: A,
      utilizationPercent: 37,
      memoryBytes: 1024 * MIB,
      memoryTotalBytes: 143771 * MIB,
      powerW: 245.6,
      clockMhz: 1725,
    });
    expect(gpuOfLine(`${A}, 0 %, 3 MiB, 24564 MiB, 25.00 W, 300 MHz`)).toMatchObject({
      utilizationPercent: 0,
      powerW: 25,
      clockMhz: 300,
    });
  });

  it('leaves out what the GPU does not tell', () => {
    expect(gpuOfLine(`${A}, [N/A], 12, 24564, [Not Supported], [N/A]`)).toEqual({
      uuid: A,
      memoryBytes: 12 * MIB,
      memoryTotalBytes: 24564 * MIB,
    });
  });

  it.each([
    '',
    'No devices were found',
    'NVIDIA-SMI has failed because it could not communicate with the NVIDIA driver, really, so, it, is',
    `${A}, 37`,
    'Field "power.drawn" is not a valid field to query.',
  ])('is none: %j', (line) => {
    expect(gpuOfLine(line)).toBeNull();
  });
});

describe('the GPUs of this machine', () => {
  it('are asked for once, and always told as they are now', async () => {
    const { tool, source } = told(`${A}, 10, 100, 1000, 50, 1500`, `${B}, 20, 200, 1000, 60, 1500`);
    expect((await source.read()).map(({ utilizationPercent }) => utilizationPercent)).toEqual([10, 20]);
    tool.tell(`${A}, 90, 300, 1000, 55, 1500`);
    expect((await source.read()).map(({ utilizationPercent }) => utilizationPercent)).toEqual([90, 20]);
    expect(tool).toMatchObject({ starts: 1, args: expect.arrayContaining(['--loop-ms=500']) });
  });

  it('name the programs that use them beside Triton, for as long as they do', async () => {
    const { tool, source } = told(`${A}, 10, 100, 1000, 50, 1500`, `${B}, 20, 200, 1000, 60, 1500`);
    const listPrograms = async () => (await source.read()).map(({ otherProcesses }) => otherProcesses);
    expect(await listPrograms()).toEqual([undefined, undefined]);
    tool.tellProgram(`${A}, 17, /opt/tritonserver/bin/tritonserver`);
    tool.tellProgram(`${A}, 18, /opt/tritonserver/backends/python/triton_python_backend_stub`);
    tool.tellProgram('No running processes found');
    expect(await listPrograms()).toEqual([undefined, undefined]);
    tool.tellProgram(`${B}, 19, /usr/bin/python3`);
    tool.tellProgram(`${B}, 20, [Not Found]`);
    expect(await listPrograms()).toEqual([undefined, ['python3']]);
    tool.nowNs += 4e9;
    expect(await listPrograms()).toEqual([undefined, undefined]);
  });

  it('are none where the tool ended, before its first line or after it', async () => {
    const missing = told();
    missing.tool.end();
    expect(await missing.source.read()).toEqual([]);
    const { tool, source } = told(`${A}, 10, 100, 1000, 50, 1500`);
    expect(await source.read()).toHaveLength(1);
    await source.close();
    expect(await source.read()).toEqual([]);
    expect(tool.starts).toBe(1);
  });

  it('are asked for their clocks where the page has all else, and there is nothing to close before', async () => {
    const page: DeviceMetrics = {
      gpuUtilizationPercent: 1,
      gpuMemoryMiB: 2,
      gpuPowerW: 3,
      gpus: [{ uuid: A, powerW: 3 }],
    };
    const { tool, source } = told(`${A}, 10, 100, 1000, 50, 1410`);
    await told().source.close();
    const whole = await withGpus(source, async () => page)(new AbortController().signal);
    expect(whole).toMatchObject({ ...page, gpus: [{ uuid: A, powerW: 3, clockMhz: 1410 }] });
    expect(tool.starts).toBe(1);
  });
});

describe('a metrics page with the GPUs of this machine behind it', () => {
  const { source } = told(`${A}, 10, 100, 1000, 50, 1500`, `${B}, 30, 300, 1000, 70, 1500`);
  const reading = (page: DeviceMetrics | null) => withGpus(source, async () => page)(new AbortController().signal);

  it('has them where the page has none, or is none', async () => {
    const both = { gpuUtilizationPercent: 20, gpuMemoryMiB: 400, gpuPowerW: 120 };
    expect(await reading({ cpuUtilizationPercent: 5 })).toMatchObject({ ...both, cpuUtilizationPercent: 5 });
    expect((await reading(null))?.gpus?.map(({ uuid }) => uuid)).toEqual([A, B]);
  });

  it('keeps what the page says, and its choice of GPUs', async () => {
    const page = { gpuUtilizationPercent: 12, gpus: [{ uuid: B, utilizationPercent: 12 }] };
    expect(await reading(page)).toEqual({
      gpuUtilizationPercent: 12,
      gpuMemoryMiB: 300,
      gpuPowerW: 70,
      gpus: [
        {
          uuid: B,
          utilizationPercent: 12,
          memoryBytes: 300 * MIB,
          memoryTotalBytes: 1000 * MIB,
          powerW: 70,
          clockMhz: 1500,
        },
      ],
    });
  });

  it('is the page alone where there is no GPU', async () => {
    const none = told();
    none.tool.end();
    const probe = withGpus(none.source, async () => ({ cpuUtilizationPercent: 5 }));
    expect(await probe(new AbortController().signal)).toEqual({ cpuUtilizationPercent: 5 });
  });
});
