import { expect, it } from 'vitest';
import { readResultTable } from '#emulator/profile/result-table.ts';
import { sweepPlots, sweepsOfRows } from '#report/sweep-plots.ts';

const sweepsIn = (text: string) =>
  readResultTable(text, 'table.csv', 1).flatMap(({ rows, labels }) =>
    sweepsOfRows(rows, Object.values(labels).join(', ')),
  );

const PERF_CLIENT = `Concurrency,Inferences/Second,Client Send,Network+Server Send/Recv,Server Queue,Server Compute,Client Recv,p50 latency
1,69.6,70,800,30,13400,40,14300
4,120,70,1200,11000,20900,40,33300
2,110,70,900,1000,16300,40,18200
`;

it('draws a table of perf_client with all its parts', () => {
  const sweeps = sweepsIn(PERF_CLIENT);
  expect(sweeps.map(({ levels }) => levels.map(({ name }) => name))).toEqual([
    ['concurrency 1', 'concurrency 2', 'concurrency 4'],
  ]);
  expect(sweeps[0]?.levels[2]?.bar).toMatchObject({ queueMs: 11, inputMs: 0, outputMs: 0, client: null });
  expect(sweeps[0]?.levels[2]?.bar?.inferMs).toBeCloseTo(20.9, 9);
  const files = new Map(sweepPlots(sweeps, null).map(({ name, content }) => [name, String(content)]));
  expect([...files.keys()]).toEqual(['throughput_vs_latency.svg', 'latency_parts.svg']);
  expect(files.get('throughput_vs_latency.svg')).toContain('Throughput still grows at concurrency 4: 120 infer/s');
  expect(files.get('latency_parts.svg')).toContain('At concurrency 4, 63 % of 33.2 ms is compute');
});

it('has a line for each batch size and one over batch sizes, and PNG files with a renderer', () => {
  const table =
    'gpu,batch,concurrency,inferences_per_s,p50_ms\na30,1,1,10,1\na30,8,1,60,2\na30,4,8,70,3\na30,4,16,71,6\n';
  const sweeps = sweepsIn(table);
  expect(sweeps.map(({ name, levels }) => [name, ...levels.map((level) => level.name)])).toEqual([
    ['a30, by batch', 'batch 1', 'batch 8'],
    ['a30, batch 4', 'concurrency 8', 'concurrency 16'],
  ]);
  const files = sweepPlots(sweeps, () => new Uint8Array([1]));
  expect(files.map(({ name }) => name)).toEqual(['throughput_vs_latency.svg', 'throughput_vs_latency.png']);
  expect(files[0]?.content).toContain('The highest throughput is 71 infer/s: a30, batch 4 (concurrency 16)');
});
