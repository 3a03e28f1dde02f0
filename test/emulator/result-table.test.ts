import { describe, expect, it } from 'vitest';
import { csvRows } from '#base/csv.ts';
import { readResultTable } from '#emulator/profile/result-table.ts';

const read = (text: string, clientBatch = 1) => readResultTable(text, 'table.csv', clientBatch);

describe('a CSV text', () => {
  it('is read with its quotes, either kind of line end, and without empty lines', () => {
    const rows = csvRows('a,b,c\r\n1,"x, ""y""",\r\n\r\n"two\nlines",2,3\n');
    expect(rows).toEqual([
      { a: '1', b: 'x, "y"', c: '' },
      { a: 'two\nlines', b: '2', c: '3' },
    ]);
  });

  it('may end without a line end', () => {
    expect(csvRows('a,b\n1,')).toEqual([{ a: '1', b: '' }]);
    expect(csvRows('')).toEqual([]);
  });
});

describe('a result table', () => {
  it('is read in the columns of published tables, one set-up for each server', () => {
    const setUps = read(
      [
        'gpu,backend,scenario,instances,batch,concurrency,inferences_per_s,server_queue_ms,server_compute_input_ms,server_compute_infer_ms,server_compute_output_ms,p50_ms,avg_ms',
        't4,pytorch,offline,2,16,1,1900,0.1,0.2,7.2,0.1,8.3,8.4',
        't4,pytorch,online,2,16,8,3264,13.9,0.8,8.9,14.2,43.8,38.5',
        'a30,pytorch,offline,2,16,1,3000,0.1,0.2,4.2,0.1,5.3,5.4',
      ].join('\n'),
    );
    expect(setUps.map(({ labels }) => labels)).toEqual([
      { gpu: 't4', backend: 'pytorch' },
      { gpu: 'a30', backend: 'pytorch' },
    ]);
    expect(setUps[0]).toMatchObject({ settings: { instances: 2 } });
    expect(setUps[0]?.rows[1]).toEqual({
      concurrency: 8,
      samplesPerRequest: 16,
      inferPerSecond: 3264,
      latencyMs: { p50: 43.8, mean: 38.5 },
      server: { queueMs: 13.9, inputMs: 0.8, inferMs: 8.9, outputMs: 14.2 },
      meanBatch: null,
    });
  });

  it('is read in perf_analyzer’s columns: microseconds, the mean from its parts, the client’s batch as given', () => {
    const [setUp] = read(
      'Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute Input,Server Compute Infer,Server Compute Output,Client Recv,p50 latency,p99 latency\n4,800,0,300,1000,10,2000,20,0,3200,5000\n',
      2,
    );
    expect(setUp).toMatchObject({ labels: {}, settings: { instances: null } });
    expect(setUp?.rows[0]?.latencyMs.p50).toBeCloseTo(3.2, 9);
    expect(setUp?.rows[0]?.latencyMs.mean).toBeCloseTo(3.33, 9);
    expect(setUp?.rows[0]).toMatchObject({ samplesPerRequest: 2, concurrency: 4 });
  });

  it('is read from what perf_analyzer printed, the first of the models of a pipeline, the mean also where a percentile decides', () => {
    const run = (batch: number, lines: readonly string[]): string[] => [
      '*** Measurement Settings ***',
      `  Batch size: ${batch}`,
      '  Stabilizing using p95 latency',
      '',
      'Request concurrency: 4',
      '  Client: ',
      '    Request count: 635',
      '    Throughput: 127 infer/sec',
      '    p50 latency: 15004 usec',
      '    p95 latency: 21624 usec',
      '    Avg HTTP time: 15610 usec (send/recv 5775 usec + response wait 9835 usec)',
      ...lines,
      '',
      'Inferences/Second vs. Client p95 Batch Latency',
      'Concurrency: 4, throughput: 127 infer/sec, latency 21624 usec',
    ];
    const server = (queueUs: number, indent = ''): string[] => [
      `${indent}    Inference count: 1270`,
      `${indent}    Execution count: 635`,
      `${indent}    Avg request latency: 7394 usec (overhead 73 usec + queue ${queueUs} usec + compute input 1427 usec + compute infer 4396 usec + compute output 1439 usec)`,
    ];
    const pipeline = ['  Server: ', ...server(59), '', '    Composing models: ', ...server(9999, '    ')];
    const old = [
      '  Server: ',
      '    Avg request latency: 4824 usec (overhead 10 usec + queue 39 usec + compute 4775 usec)',
    ];
    const rate = ['Request Rate: 50 inference requests per second', '  Client: ', '    Throughput: 1 infer/sec'];
    const setUps = read([...run(2, pipeline), ...run(1, old), ...rate].join('\n'));
    expect(setUps.map(({ labels }) => labels)).toEqual([{ run: '1' }, { run: '2' }]);
    expect(setUps.map(({ rows }) => rows.length)).toEqual([1, 1]);
    const [row] = setUps[0]?.rows ?? [];
    expect(row).toMatchObject({ concurrency: 4, samplesPerRequest: 2, inferPerSecond: 127, meanBatch: 2 });
    expect(row?.latencyMs.p50).toBeCloseTo(15.004, 9);
    expect(row?.latencyMs.mean).toBeCloseTo(15.61, 9);
    expect(row?.server?.queueMs).toBeCloseTo(0.059, 9);
    expect(row?.server?.outputMs).toBeCloseTo(1.439, 9);
    expect(setUps[1]?.rows[0]?.server).toEqual({ queueMs: 0.039, inputMs: 0, inferMs: 4.775, outputMs: 0 });
    expect(read(run(1, []).join('\n'))[0]?.labels).toEqual({});
  });

  it('is read from Markdown, with the parameters that stand before it, as published documents have them', () => {
    const published = (dataset: string, row: string): string[] => [
      '| Parameter Name               | Parameter Value              |',
      '|:-----------------------------|:-----------------------------|',
      '| GPU                          |NVIDIA A30            |',
      '| Backend                      |NVIDIA TensorRT        |',
      '| Precision                    |FP16      |',
      '| Number of model instances    |2|',
      `| Dataset | ${dataset}                 |`,
      '',
      '<summary>Results Table</summary>',
      '',
      '|   Batch |   Concurrency |   Inferences/Second |   Client Send (ms) |   Network+Server Send/Recv (ms) |   Server Queue (ms) |   Server Compute Input (ms) |   Server Compute Infer (ms) |   Server Compute Output (ms) |   Client Recv (ms) |   p50 latency (ms) |   p99 latency (ms) |   avg latency (ms) |',
      '|--------:|--------------:|--------------------:|-------------------:|--------------------------------:|--------------------:|----------------------------:|----------------------------:|-----------------------------:|-------------------:|-------------------:|-------------------:|-------------------:|',
      row,
      '',
    ];
    const setUps = read(
      [
        ...published(
          'electricity',
          '| 16 | 8 | 12083.9 | 0.1 | 0.4 | 4.6 | 0.2 | 5.1 | 0.0 | 0.0 | 10.5 | 10.8 | 10.6 |',
        ),
        ...published(
          'traffic',
          '| 16 | 16 | 11248.0 | 0.1 | 0.7 | 11.3 | 0.2 | 10.1 | 0.0 | 0.0 | 23.6 | 32.7 | 22.5 |',
        ),
      ].join('\n'),
    );
    const labels = { gpu: 'NVIDIA A30', backend: 'NVIDIA TensorRT', precision: 'FP16' };
    expect(setUps.map((setUp) => setUp.labels)).toEqual([
      { ...labels, dataset: 'electricity' },
      { ...labels, dataset: 'traffic' },
    ]);
    expect(setUps[0]).toMatchObject({ settings: { instances: 2 } });
    expect(setUps[0]?.rows).toEqual([
      {
        concurrency: 8,
        samplesPerRequest: 16,
        inferPerSecond: 12083.9,
        meanBatch: null,
        latencyMs: { p50: 10.5, mean: 10.6 },
        server: { queueMs: 4.6, inputMs: 0.2, inferMs: 5.1, outputMs: 0 },
      },
    ]);
  });

  it('is read as documents of published results have it: lists, pictures, milliseconds without a unit', () => {
    const [offline, online] = [
      '| Precision   | Backend Accelerator  |   Client Batch Size |   Inferences/second |   P90 Latency |   P99 Latency |   Avg Latency |',
      '|   Concurrent client requests |   Inferences/second |   Client Send |   Network+server Send/recv |   Server Queue |   Server Compute Input |   Server Compute Infer |   Server Compute Output |   Client Recv |   P50 Latency |   Avg Latency |',
    ];
    const rule = (header = '') => header.replaceAll(/[^|]+/g, '---');
    const head = (scenario: string) => [
      `#### ${scenario}: NVIDIA T4, ONNX Runtime TensorRT with FP16`,
      ' * **GPU:** NVIDIA T4',
      ' * **Backend:** ONNX Runtime',
      ' * **Backend accelerator:** TensorRT',
      ' * **Precision:** FP16',
      '|![](plots/left.svg)|![](plots/right.svg)|',
      '|-----|-----|',
      '',
    ];
    const text = [
      '| Parameter Name               | Parameter Value   |',
      '|:-----------------------------|:------------------|',
      '| Max Batch Size               | 128.0             |',
      '| Number of model instances    | 2.0               |',
      '| Triton Max Queue Delay       | 1.0               |',
      '| Triton Preferred Batch Sizes | 64 128            |',
      '',
      ...head('Offline'),
      offline,
      rule(offline),
      '| FP16        | TensorRT             |                   1 |               332.4 |         3.065 |         3.189 |         3.003 |',
      '| FP16        | TensorRT             |                   8 |               888   |         9.039 |         9.065 |         8.998 |',
      '',
      ...head('Online'),
      online,
      rule(online),
      '|                           16 |              1078.1 |         0.169 |                      0.163 |          1.285 |                  0.259 |                 12.703 |                   0.034 |             0 |        15.062 |        14.614 |',
      '',
    ].join('\n');
    const setUps = read(text);
    expect(setUps).toHaveLength(1);
    expect(setUps[0]).toMatchObject({
      labels: { gpu: 'NVIDIA T4', backend: 'ONNX Runtime', 'backend accelerator': 'TensorRT', precision: 'FP16' },
      settings: { instances: 2, maxBatchSize: 128, preferredBatchSizes: [64, 128], queueDelayUs: 1 },
    });
    expect(setUps[0]?.rows).toEqual([
      expect.objectContaining({ concurrency: 1, samplesPerRequest: 1, latencyMs: { p50: 3.003, mean: 3.003 } }),
      expect.objectContaining({ concurrency: 1, samplesPerRequest: 8, server: null }),
      expect.objectContaining({
        concurrency: 16,
        latencyMs: { p50: 15.062, mean: 14.614 },
        server: { queueMs: 1.285, inputMs: 0.259, inferMs: 12.703, outputMs: 0.034 },
      }),
    ]);
  });

  it('is read from a run, a set-up for each trial, without request rates, failures and a client that was the limit', () => {
    const head =
      'trial,role,final_round,chosen,instances,load_mode,load_value,throughput_infer_per_s,latency_avg_ms,latency_p50_ms,server_queue_us,server_compute_input_us,server_compute_infer_us,server_compute_output_us,mean_batch,client_bound,failure';
    const setUps = read(
      [
        head,
        '0,baseline,,true,,concurrency,4,400,10,9,1000,10,5000,20,2.5,false,',
        '0,baseline,1,false,,concurrency,4,410,10,9,1000,10,5000,20,2.5,false,',
        '1,search,,false,2,concurrency,8,900,9,8.5,100,10,5000,20,4,false,',
        '1,search,,false,2,concurrency,16,950,9,8.5,100,10,5000,20,4,true,',
        '1,search,,true,2,request_rate,100,100,9,8.5,100,10,5000,20,4,false,',
        '2,search,,false,9,,,,,,,,,,,,out-of-memory',
      ].join('\r\n'),
    );
    expect(setUps.map(({ labels, rows }) => [labels.trial, rows.length])).toEqual([
      ['0', 2],
      ['1', 1],
    ]);
    expect(setUps[1]).toMatchObject({ labels: { instances: '2' }, settings: { instances: 2 } });
    expect(setUps[1]?.rows[0]).toMatchObject({ meanBatch: 4, server: { queueMs: 0.1 } });
  });

  it('is refused when no row is of a closed loop', () => {
    expect(() => read('a,b\n1,2\n')).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
  });
});
