import { describe, expect, it } from 'vitest';
import { csvRows } from '../../src/base/csv.ts';
import { readResultTable } from '../../src/emulator/profile/result-table.ts';

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
    expect(setUps[0]).toMatchObject({ instances: 2 });
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
    expect(setUp).toMatchObject({ labels: {}, instances: null });
    expect(setUp?.rows[0]?.latencyMs.p50).toBeCloseTo(3.2, 9);
    expect(setUp?.rows[0]?.latencyMs.mean).toBeCloseTo(3.33, 9);
    expect(setUp?.rows[0]).toMatchObject({ samplesPerRequest: 2, concurrency: 4 });
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
    expect(setUps[0]).toMatchObject({ instances: 2 });
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
    expect(setUps[1]).toMatchObject({ labels: { instances: '2' }, instances: 2 });
    expect(setUps[1]?.rows[0]).toMatchObject({ meanBatch: 4, server: { queueMs: 0.1 } });
  });

  it('is refused when no row is of a closed loop', () => {
    expect(() => read('a,b\n1,2\n')).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
  });
});
