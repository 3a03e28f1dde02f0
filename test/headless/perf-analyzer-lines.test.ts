import { describe, expect, it } from 'vitest';
import { streamFigure } from '#headless/perf-analyzer/figures.ts';
import {
  closingLines,
  levelHeading,
  levelLines,
  levelWarnings,
  windowLine,
} from '#headless/perf-analyzer/level-lines.ts';
import { type ProfileSettings, settingsLines } from '#headless/perf-analyzer/settings.ts';
import { trustLines } from '#headless/perf-analyzer/trust-lines.ts';
import { measured } from '../study/builders.ts';
import { tokensOf } from '../study/token-figures.ts';
import { levelReport, serverReport } from '../support/level-reports.ts';

const settings: ProfileSettings = {
  batch: 1,
  serviceKind: 'TRITON',
  protocol: 'http',
  mode: 'concurrency',
  endLevel: 4,
  binarySearch: false,
  distribution: null,
  latencyLimitMs: 0,
  warmupRequests: null,
  isAsync: false,
  isDecoupled: false,
  measuring: { kind: 'time-windows', windowMs: 5000, maxTrials: 10 },
  percentile: null,
};

describe('numbers', () => {
  it.each([
    [208.4, '208.4'],
    [0, '0'],
    [1042, '1042'],
    [160.8000001, '160.8'],
    [14101.3456, '14101.3'],
    [123456.7, '123457'],
    [1234567, '1.23457e+06'],
    [1e6, '1e+06'],
    [0.00001234, '1.234e-05'],
    [0.5, '0.5'],
  ])('%s is %s', (value, text) => {
    expect(streamFigure(value)).toBe(text);
  });
});

describe('the lines before the first level', () => {
  it('are those of a concurrency range in time windows', () => {
    expect(settingsLines(settings)).toEqual([
      '*** Measurement Settings ***',
      '  Batch size: 1',
      '  Service Kind: TRITON',
      '  Using "time_windows" mode for stabilization',
      '  Stabilizing using average latency and throughput',
      '  Measurement window: 5000 msec',
      '  Latency limit: 0 msec',
      '  Concurrency limit: 4 concurrent requests',
      '  Using synchronous calls for inference',
      '',
    ]);
  });

  it('name no limits for a single level', () => {
    expect(settingsLines({ ...settings, endLevel: 1 }).join('\n')).not.toMatch(/limit/);
  });

  it('are those of a rate, searched by halves, in count windows', () => {
    const lines = settingsLines({
      ...settings,
      mode: 'request-rate',
      endLevel: 50,
      latencyLimitMs: 12.5,
      binarySearch: true,
      distribution: 'poisson',
      warmupRequests: 5,
      isAsync: true,
      percentile: 95,
      measuring: { kind: 'count-windows', requests: 50, maxTrials: 10 },
    });
    expect(lines.slice(3)).toEqual([
      '  Sending 5 warmup requests',
      '  Using "count_windows" mode for stabilization',
      '  Stabilizing using p95 latency and throughput',
      '  Minimum number of samples in each window: 50',
      '  Latency limit: 12.5 msec',
      '  Request Rate limit: 50 requests per seconds',
      '  Using poisson distribution on request generation',
      '  Using Binary Search algorithm',
      '  Using asynchronous calls for inference',
      '',
    ]);
  });
});

describe('the lines of a level', () => {
  it('are those of a plain model over HTTP', () => {
    expect(levelHeading(levelReport())).toBe('Request concurrency: 4');
    expect(levelLines(levelReport(), settings, false)).toEqual([
      '  Client: ',
      '    Request count: 1042',
      '    Throughput: 208.4 infer/sec',
      '    Avg latency: 19185 usec (standard deviation 105 usec)',
      '    p50 latency: 19168 usec',
      '    p90 latency: 19218 usec',
      '    p95 latency: 19265 usec',
      '    p99 latency: 19583 usec',
      '    Avg HTTP time: 19185 usec (send/recv 0 usec + response wait 19185 usec)',
      '  Server: ',
      '    Inference count: 1250',
      '    Execution count: 625',
      '    Successful request count: 1250',
      '    Avg request latency: 18099 usec (overhead 9 usec + queue 13314 usec + compute input 21 usec + compute infer 4700 usec + compute output 54 usec)',
      '',
    ]);
  });

  it('leave out the average with a percentile, and split the wait when verbose', () => {
    const lines = levelLines(levelReport(), { ...settings, protocol: 'grpc', percentile: 95 }, true);
    expect(lines.some((line) => line.includes('Avg latency'))).toBe(false);
    expect(lines).toContain(
      '    Avg gRPC time: 19185 usec (marshal 0 usec + response wait 19185 usec + unmarshal 0 usec)',
    );
  });

  it.each([
    ['http', false, 'Avg HTTP time: 19185 usec (send/recv 71 usec + response wait 19114 usec)'],
    ['http', true, 'Avg HTTP time: 19185 usec (send 63 usec + response wait 19114 usec + receive 8 usec)'],
    ['grpc', false, 'Avg gRPC time: 19185 usec ((un)marshal request/response 5 usec + response wait 19180 usec)'],
    ['grpc', true, 'Avg gRPC time: 19185 usec (marshal 3 usec + response wait 19180 usec + unmarshal 2 usec)'],
  ] as const)("have the client's own parts over %s, verbose: %s", (protocol, verbose, line) => {
    const clientTimes = { requests: 9, marshalUs: 3, sendUs: 60, waitUs: 19_100, receiveUs: 6, unmarshalUs: 2 };
    const report = levelReport({ measurement: measured(4, 1, 1, { clientTimes }) });
    expect(levelLines(report, { ...settings, protocol }, verbose)).toContain(`    ${line}`);
  });

  it('tell late sends, sequences and responses', () => {
    const rate = levelReport({
      level: { mode: 'request-rate', value: 20 },
      sends: { perSecond: 361.974, latePercent: 96.494 },
      sequences: { count: 52, perSecond: 10.4 },
      responsesPerSecond: 833.6,
    });
    expect(levelHeading(rate)).toBe('Request Rate: 20 inference requests per second');
    expect(levelLines(rate, settings, false).slice(2, 7)).toEqual([
      '    Avg send request rate: 361.97 infer/sec',
      '    [WARNING] Perf Analyzer was not able to keep up with the desired request rate. 96.49% of the requests were delayed. ',
      '    Sequence count: 52 (10.4 seq/sec)',
      '    Throughput: 208.4 infer/sec',
      '    Response Throughput: 833.6 infer/sec',
    ]);
    const onTime = levelReport({ sends: { perSecond: 20, latePercent: 0.5 } });
    expect(levelLines(onTime, settings, false).join('\n')).not.toMatch(/delayed/);
  });

  it('show a response cache', () => {
    const cache = { hitCount: 3, missCount: 1, hitUsPerRequest: 6, missUsPerRequest: 5, hitUs: 8, missUs: 20 };
    const lines = levelLines(levelReport({ server: { ...serverReport, cache } }), settings, false);
    expect(lines.slice(-7, -1)).toEqual([
      '    Cache hit count: 3',
      '    Cache miss count: 1',
      '    Successful request count: 1250',
      '    Avg request latency: 18099 usec (overhead 9 usec + queue 13314 usec + cache hit/miss 11 usec)',
      '      Average Cache Hit Latency: 8 usec',
      '      Average Cache Miss Latency: 4796 usec (cache lookup/insertion 20 usec + compute input 21 usec + compute infer 4700 usec + compute output 54 usec)',
    ]);
  });

  it('nest the models of an ensemble', () => {
    const inner = { ...serverReport, model: 'first', version: '1' };
    const lines = levelLines(levelReport({ server: { ...serverReport, composing: [inner] } }), settings, false);
    const at = lines.indexOf('    Composing models: ');
    expect(lines[at - 2]).toBe(
      '    Avg request latency: 18099 usec (overhead 9 usec + queue 13314 usec + compute 4776 usec)',
    );
    expect(lines.slice(at - 1, at + 3)).toEqual([
      '',
      '    Composing models: ',
      '    first, version: 1',
      '        Inference count: 1250',
    ]);
  });

  it('show each GPU', () => {
    const gpus = [{ uuid: 'GPU-a', utilizationPercent: 33, powerW: 61.5, memoryBytes: 1e9, memoryTotalBytes: 4e9 }];
    const lines = levelLines(levelReport({ measurement: measured(4, 1, 1, { device: { gpus } }) }), settings, false);
    expect(lines.slice(-10)).toEqual([
      '  Server Prometheus Metrics: ',
      '    Avg GPU Utilization:',
      '      GPU-a : 33%',
      '    Avg GPU Power Usage:',
      '      GPU-a : 61.5 watts',
      '    Max GPU Memory Usage:',
      '      GPU-a : 1000000000 bytes',
      '    Total GPU Memory:',
      '      GPU-a : 4000000000 bytes',
      '',
    ]);
  });

  it('have one for each window', () => {
    const figures = { window: 1, inferPerSecond: 208.4, averageUs: 19185, deviationUs: 105, percentileUs: 20000 };
    expect(windowLine(figures, null)).toBe(
      '  Pass [1] throughput: 208.4 infer/sec. Avg latency: 19185 usec (std 105 usec).',
    );
    expect(windowLine(figures, 95)).toBe('  Pass [1] throughput: 208.4 infer/sec. p95 latency: 20000 usec.');
  });
});

describe('warnings', () => {
  it('hold the words that others look for', () => {
    expect(levelWarnings(levelReport({ isStable: false }), settings)).toEqual([
      'Failed to obtain stable measurement within 10 measurement windows for concurrency 4. Please try to increase the --measurement-interval.',
    ]);
    const limited = { ...settings, latencyLimitMs: 50 };
    expect(levelWarnings(levelReport({ isWithinLimit: false }), limited)).toEqual([
      'Measured latency went over the set limit of 50 msec. ',
    ]);
  });

  it('say why requests failed, where most did, instead of how to measure them longer', () => {
    const report = levelReport({ isStable: false });
    const failures = [{ kind: 'status', count: 9, firstMessage: 'no such input' }] as const;
    const failing = { ...report, measurement: { ...report.measurement, errorRate: 0.9, failures: [...failures] } };
    expect(levelWarnings(failing, settings)).toEqual([
      'Failed to obtain stable measurement within 10 measurement windows for concurrency 4. 90 % of requests failed (`no such input`).',
    ]);
  });

  it('say when the client was the limit', () => {
    const client = { cpuUsPerRequest: 9, eventLoopDelayMs: 1, bound: true, reason: 'its CPU was busy' };
    expect(levelWarnings(levelReport({ measurement: measured(1, 1, 1, { client }) }), settings).join()).toMatch(
      /client was the limit.*its CPU was busy/,
    );
  });
});

describe('the lines at the end', () => {
  it('name the latency that was looked at', () => {
    const rate = levelReport({ level: { mode: 'request-rate', value: 20 }, decidingUs: 6207 });
    expect(closingLines([levelReport(), rate], settings)).toEqual([
      'Inferences/Second vs. Client Average Batch Latency',
      'Concurrency: 4, throughput: 208.4 infer/sec, latency 19185 usec',
      'Request Rate: 20, throughput: 208.4 infer/sec, latency 6207 usec',
    ]);
    expect(closingLines([levelReport()], { ...settings, percentile: 95 })[0]).toBe(
      'Inferences/Second vs. Client p95 Batch Latency',
    );
    expect(closingLines([], settings)).toEqual([]);
  });
});

describe('how far the figures can be trusted', () => {
  it('is told with intervals, failures and the client', () => {
    const failures = [{ kind: 'timeout', count: 2, firstMessage: 'no reply\nin time' }];
    const lines = trustLines(levelReport({ measurement: measured(4, 200, 8, { failures, errorRate: 0.002 }) }));
    expect(lines).toEqual([
      '  Trust: ',
      '    Throughput: 200 infer/s, 95 % interval 196 to 204',
      '    p99 latency: 8 ms, 95 % interval 7.84 ms to 8.16 ms',
      '    Measured: 1.5 s in 3 windows, stable',
      '    Client: 20 usec of CPU per request; not the limit',
      '    Failed: 0.2 % of the requests',
      '      2 × timeout: no reply in time',
      '',
    ]);
    const client = { ...measured(4, 200, 8).client };
    const clientLines = (more: object): string[] =>
      trustLines(levelReport({ measurement: measured(4, 200, 8, { client: { ...client, ...more } }) })).slice(4, 6);
    expect(clientLines({ unheldRate: { by: 'server', reason: '90 % were not\nsent' } })).toEqual([
      '    Client: 20 usec of CPU per request; not the limit',
      '    Rate: NOT HELD, THE SERVER WAS THE LIMIT: 90 % were not sent',
    ]);
    expect(clientLines({ unheldRate: { by: 'machine', reason: '83 % were late' } })).toEqual([
      '    Client: 20 usec of CPU per request',
      '    Rate: NOT HELD, THIS MACHINE WAS THE LIMIT: 83 % were late',
    ]);
    const replies = trustLines(levelReport({ measurement: measured(4, 20, 8, { tokens: tokensOf(4, 20) }) }));
    expect(replies[1]).toBe('    Throughput: 20 requests/s, 95 % interval 19.6 to 20.4');
    const once = trustLines(levelReport({ measurement: measured(4, 200, 8, { windows: 1 }) }));
    expect(once).toContain('    Measured: 1.5 s in 1 window, too short to tell if it is stable');
  });
});
