import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { gpuMetrics, meanGpuMetrics } from '#profiler/devices/gpu-metrics.ts';
import { lastLoadSeconds, metricsPage } from '#profiler/devices/metrics-page.ts';
import { parsePrometheus } from '#profiler/devices/prometheus.ts';

const page = (...lines: string[]) => parsePrometheus(lines.join('\n'));

describe('the last load on a metrics page', () => {
  it('is the slowest of the versions of that model', () => {
    const samples = page(
      '# TYPE nv_model_load_duration_secs gauge',
      'nv_model_load_duration_secs{model="m",version="1"} 1.611378656',
      'nv_model_load_duration_secs{model="m",version="2"} 2.5',
      'nv_model_load_duration_secs{model="other",version="1"} 9',
      'nv_inference_count{model="m",version="1"} 12',
    );
    expect(lastLoadSeconds(samples, 'm')).toBe(2.5);
  });

  it('is not known where nothing says so', () => {
    expect(lastLoadSeconds(page('nv_inference_count{model="m",version="1"} 12'), 'm')).toBeNull();
    expect(lastLoadSeconds(page('nv_model_load_duration_secs{model="other",version="1"} 9'), 'm')).toBeNull();
    for (const none of ['0', 'NaN', '-1'])
      expect(lastLoadSeconds(page(`nv_model_load_duration_secs{model="m",version="1"} ${none}`), 'm')).toBeNull();
  });
});

describe('a metrics page', () => {
  const serving = async (answer: (response: ServerResponse) => void): Promise<string> => {
    const server = createServer((_, response) => answer(response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      server.closeAllConnections();
      server.close();
    });
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`;
  };
  const read = (url: string, signal = new AbortController().signal) => metricsPage(url, null)(signal);
  const line = (index: number): string => `nv_gpu_utilization{gpu_uuid="GPU-${index}"} 0.5\n`;

  it('is read line by line, however its bytes are cut', async () => {
    const url = await serving((response) => {
      const text = `# HELP é\n${line(1)}${line(2)}a{b="é"} 3`;
      for (const byte of Buffer.from(text)) response.write(Buffer.of(byte));
      response.end();
    });
    expect(await read(url)).toEqual(page(line(1), line(2), 'a{b="é"} 3'));
  });

  it.each([
    ['too many samples', () => Array.from({ length: 200_000 }, (_, index) => line(index)).join('')],
    ['a line without an end', () => 'x'.repeat(2 ** 20)],
  ])('of %s is not read', async (_, textOf) => {
    const text = textOf();
    expect(await read(await serving((response) => response.end(text)))).toBeNull();
  });

  it('that never ends is left when the reading is stopped', async () => {
    const stop = new AbortController();
    const url = await serving((response) => {
      response.write(line(1));
      stop.abort();
    });
    expect(await read(url, stop.signal)).toBeNull();
  });

  it('has no GPUs where it names impossibly many', () => {
    const names = (count: number) => page(...Array.from({ length: count }, (_, index) => line(index)));
    expect(gpuMetrics(names(1024))).toHaveLength(1024);
    expect(gpuMetrics(names(1025))).toEqual([]);
    const one = gpuMetrics(names(3));
    expect(meanGpuMetrics([one, one])).toEqual(one);
  });
});
