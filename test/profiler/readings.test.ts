import { describe, expect, it } from 'vitest';
import { deviceMetrics, meanDeviceMetrics, metricsProbe } from '#profiler/devices/device-probe.ts';
import { parsePrometheus } from '#profiler/devices/prometheus.ts';
import { requestsServed, serverBreakdown } from '#profiler/server-breakdown.ts';
import type { ModelStatistics } from '#triton/types.ts';

const page = `# HELP nv_gpu_utilization GPU utilization rate [0.0 - 1.0)
# TYPE nv_gpu_utilization gauge
nv_gpu_utilization{gpu_uuid="GPU-a"} 0.5
nv_gpu_utilization{gpu_uuid="GPU-b"} 0.25 1700000000000
nv_gpu_memory_used_bytes{gpu_uuid="GPU-a"} 1.048576e+08
nv_gpu_memory_used_bytes{gpu_uuid="GPU-b"} 104857600
nv_gpu_power_usage{gpu_uuid="GPU-a"} NaN
nv_cpu_utilization 0.125
other{text="a, \\"b\\" } \\\\ \\n",second="2",} +Inf
this line is no sample
broken{ 1
`;

describe('parsePrometheus', () => {
  it('reads samples, labels, escapes and odd numbers, and passes over the rest', () => {
    const samples = parsePrometheus(page);
    expect(samples).toHaveLength(7);
    expect(samples[1]).toEqual({
      name: 'nv_gpu_utilization',
      labels: { gpu_uuid: 'GPU-b' },
      value: 0.25,
      atMs: 1700000000000,
    });
    expect(samples[6]).toEqual({
      name: 'other',
      labels: { text: 'a, "b" } \\ \n', second: '2' },
      value: Number.POSITIVE_INFINITY,
    });
    expect(parsePrometheus('a 1\r\nb 2\r\n').map((sample) => sample.value)).toEqual([1, 2]);
  });
});

describe('device metrics', () => {
  it('means utilisation, sums memory, and leaves out what is not there', () => {
    expect(deviceMetrics(parsePrometheus(page))).toEqual({
      gpuUtilizationPercent: 37.5,
      gpuMemoryMiB: 200,
      cpuUtilizationPercent: 12.5,
      gpus: [
        { uuid: 'GPU-a', utilizationPercent: 50, memoryBytes: 104857600 },
        { uuid: 'GPU-b', utilizationPercent: 25, memoryBytes: 104857600 },
      ],
    });
    expect(deviceMetrics([])).toEqual({});
    const twice = meanDeviceMetrics([
      { gpus: [{ uuid: 'GPU-a', powerW: 100, memoryBytes: 5 }] },
      { gpus: [{ uuid: 'GPU-a', powerW: 200, memoryBytes: 3 }] },
    ]);
    expect(twice.gpus).toEqual([{ uuid: 'GPU-a', powerW: 150, memoryBytes: 5 }]);
    // The first is of the moment in which the server had two configs.
    const some = [{ gpuPowerW: 100, gpuMemoryMiB: 7000 }, { gpuMemoryMiB: 4000 }];
    expect(meanDeviceMetrics([...some, { gpuPowerW: 200, cpuUtilizationPercent: 5 }])).toEqual({
      gpuPowerW: 150,
      gpuMemoryMiB: 4000,
      cpuUtilizationPercent: 5,
    });
  });

  it('takes a missing endpoint for no metrics', async () => {
    const probe = metricsProbe('http://127.0.0.1:1/metrics', 'm');
    for (let i = 0; i < 5; i++) expect(await probe(new AbortController().signal)).toBeNull();
  });
});

const duration = (count: number, ns: number) => ({ count, ns });

function statistics(version: string, requests: number, change: Partial<ModelStatistics> = {}): ModelStatistics {
  return {
    name: 'm',
    version,
    lastInferenceMs: 0,
    inferenceCount: requests * 2,
    executionCount: requests,
    success: duration(requests, requests * 10_000),
    fail: duration(0, 0),
    queue: duration(requests, requests * 3000),
    computeInput: duration(requests, requests * 1000),
    computeInfer: duration(requests, requests * 4000),
    computeOutput: duration(requests, requests * 500),
    cacheHit: duration(0, 0),
    cacheMiss: duration(0, 0),
    batchStats: [
      {
        batchSize: 2,
        computeInput: duration(requests, requests * 1000),
        computeInfer: duration(requests, requests * 4000),
        computeOutput: duration(requests, requests * 500),
      },
    ],
    memoryUsage: [],
    ...change,
  };
}

describe('serverBreakdown', () => {
  it('differences two readings, per request', () => {
    expect(serverBreakdown([statistics('1', 10)], [statistics('1', 30)], '')).toEqual({
      usable: true,
      breakdown: {
        queueUs: 3,
        computeInputUs: 1,
        computeInferUs: 4,
        computeOutputUs: 0.5,
        overheadUs: 1.5,
        requestUs: 10,
        successCount: 20,
        inferenceCount: 40,
        executionCount: 20,
        failCount: 0,
        cache: { hitCount: 0, hitUs: 0, missCount: 0, missUs: 0 },
        batches: [{ size: 2, executions: 20, meanExecutionUs: 5.5 }],
      },
    });
  });

  it('tells what the response cache answered', () => {
    const before = statistics('1', 10, { cacheHit: duration(4, 8_000), cacheMiss: duration(1, 5_000) });
    const after = statistics('1', 30, { cacheHit: duration(14, 48_000), cacheMiss: duration(3, 25_000) });
    expect(serverBreakdown([before], [after], '')).toMatchObject({
      breakdown: { cache: { hitCount: 10, hitUs: 4, missCount: 2, missUs: 10 } },
    });
  });

  it('takes the version that served: the one asked for, or the highest', () => {
    const before = [statistics('1', 5), statistics('2', 5), statistics('3', 5)];
    const after = [statistics('1', 25), statistics('2', 15), statistics('3', 5)];
    expect(serverBreakdown(before, after, '')).toMatchObject({ breakdown: { executionCount: 10 } });
    expect(serverBreakdown(before, after, '1')).toMatchObject({ breakdown: { executionCount: 20 } });
    expect(requestsServed(before, after, '')).toBe(30);
    expect(requestsServed([], after, '2')).toBe(15);
  });

  it('refuses counters that went backwards or did not move', () => {
    const backwards = serverBreakdown([statistics('1', 30)], [statistics('1', 10)], '');
    expect(backwards).toMatchObject({ usable: false, note: expect.stringContaining('loaded anew') });
    expect(requestsServed([statistics('1', 30)], [statistics('1', 10)], '')).toBeNull();
    expect(serverBreakdown([statistics('1', 3)], [statistics('1', 3)], '')).toMatchObject({ usable: false });
  });
});
