import { describe, expect, it } from 'vitest';
import { perfAnalyzerCsv } from '#report/perf-analyzer-csv.ts';
import { measured } from '../study/builders.ts';
import { levelReport, serverReport } from '../support/level-reports.ts';

const plain = { isVerbose: false, withGpuMetrics: false, percentile: null };
const headerOf = (csv: string): string => csv.split('\n')[0] as string;

const COLUMNS =
  'Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency';

describe('the CSV of perf_analyzer', () => {
  it('has its columns, whole microseconds, and the least throughput first', () => {
    const faster = levelReport({ level: { mode: 'concurrency', value: 1 }, inferPerSecond: 301.25 });
    expect(perfAnalyzerCsv([faster, levelReport()], plain)).toBe(
      `Concurrency,${COLUMNS}\n` +
        '4,208.4,0,1095,13314,21,4700,54,0,19168,19218,19265,19583\n' +
        '1,301.25,0,1095,13314,21,4700,54,0,19168,19218,19265,19583\n',
    );
  });

  it("takes the client's own parts out of network and wait", () => {
    const clientTimes = { requests: 9, marshalUs: 3, sendUs: 60, waitUs: 19_100, receiveUs: 6, unmarshalUs: 2 };
    const report = levelReport({ measurement: measured(4, 1, 1, { clientTimes }) });
    expect(perfAnalyzerCsv([report], { ...plain, isVerbose: true })).toBe(
      `Concurrency,${COLUMNS},Avg latency,request/response,response wait\n` +
        '4,208.4,63,1024,13314,21,4700,54,8,19168,19218,19265,19583,19185,71,19114\n',
    );
  });

  it('names rates', () => {
    const rate = levelReport({ level: { mode: 'request-rate', value: 20.5 } });
    const csv = perfAnalyzerCsv([rate], plain);
    expect(headerOf(csv)).toBe(`Request Rate,${COLUMNS}`);
    expect(csv.split('\n')[1]).toMatch(/^20\.5,208\.4,/);
  });

  it('has further columns when asked', () => {
    const gpus = [
      { uuid: 'GPU-a', utilizationPercent: 33, powerW: 61.5, memoryBytes: 1e9, memoryTotalBytes: 4e9 },
      { uuid: 'GPU-b', powerW: 60 },
    ];
    const report = levelReport({ measurement: measured(4, 1, 1, { device: { gpus } }) });
    const csv = perfAnalyzerCsv([report], { isVerbose: true, withGpuMetrics: true, percentile: null });
    expect(headerOf(csv)).toBe(
      `Concurrency,${COLUMNS},Avg latency,request/response,response wait,Avg GPU Utilization,Avg GPU Power Usage,Max GPU Memory Usage,Total GPU Memory`,
    );
    expect(csv.split('\n')[1]).toMatch(
      /,19583,19185,0,19185,GPU-a:0\.33;,GPU-a:61\.5;GPU-b:60;,GPU-a:1000000000;,GPU-a:4000000000;$/,
    );
    expect(headerOf(perfAnalyzerCsv([report], { ...plain, isVerbose: true, percentile: 85 }))).toBe(
      `Concurrency,${COLUMNS},request/response,response wait`,
    );
  });

  it('has columns for a percentile, a cache and decoupled responses, and none for a server without statistics', () => {
    const cache = { hitCount: 3, missCount: 1, hitUsPerRequest: 6, missUsPerRequest: 5, hitUs: 8, missUs: 20 };
    const report = levelReport({
      server: { ...serverReport, cache },
      responsesPerSecond: 833.6,
      percentilesUs: [50, 85, 90, 95, 99].map((percentile) => ({ percentile, us: percentile })),
    });
    expect(headerOf(perfAnalyzerCsv([report], plain))).toBe(
      'Concurrency,Inferences/Second,Response Throughput,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Server Cache Hit,Server Cache Miss,Client Recv,p50 latency,p85 latency,p90 latency,p95 latency,p99 latency',
    );
    expect(headerOf(perfAnalyzerCsv([levelReport({ server: null })], plain))).toBe(
      'Concurrency,Inferences/Second,Client Send,Client Recv,p50 latency,p90 latency,p95 latency,p99 latency',
    );
  });
});
