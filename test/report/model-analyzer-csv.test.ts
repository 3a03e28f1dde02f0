import { describe, expect, it } from 'vitest';
import type { Measurement } from '#profiler/measurement.ts';
import { analyzerTables } from '#report/model-analyzer-csv.ts';
import { buildJoint } from '#space/joint/build-joint.ts';
import { joinSpaces, jointOriginal } from '#space/joint/joint-space.ts';
import { spaceFromJson } from '#space/source/load.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord, StudyStarted } from '#study/records/records.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { configOf, goalOf, measured, originalConfig, studyStarted, toCandidate } from '../study/builders.ts';

const at = '2026-01-01T00:00:01.000Z';

function trial(number: number, config: ModelConfig, measurements: readonly Measurement[]): StudyRecord[] {
  const role = number === 0 ? 'baseline' : 'search';
  const ending = { type: 'trial-finished', at, trial: number, feasible: false, failure: null } as const;
  return [
    { type: 'trial-started', at, trial: number, role, candidate: toCandidate(config) },
    ...measurements.map((measurement): StudyRecord => ({ type: 'trial-measured', at, trial: number, measurement })),
    { ...ending, chosen: measurements.length > 0 ? 0 : null },
  ];
}

function tablesOf(records: readonly StudyRecord[], started: Partial<StudyStarted> = {}): Record<string, string[]> {
  const state = foldStudy([studyStarted(goalOf(8), { model: 'net', ...started }), ...records]);
  return Object.fromEntries(analyzerTables(state).map(({ name, text }) => [name, text.trimEnd().split('\n')]));
}

/** As Model Analyzer 1.58 writes the first line of each file. */
const headers = {
  'metrics-model-inference.csv':
    'Model,Batch,Concurrency,Model Config Path,Instance Group,Max Batch Size,Satisfies Constraints,Throughput (infer/sec),p99 Latency (ms)',
  'metrics-model-gpu.csv':
    'Model,GPU UUID,Batch,Concurrency,Model Config Path,Instance Group,Satisfies Constraints,GPU Memory Usage (MB),GPU Utilization (%),GPU Power Usage (W)',
  'metrics-server-only.csv': 'Model,GPU UUID,GPU Memory Usage (MB),GPU Utilization (%),GPU Power Usage (W)',
};

describe("Model Analyzer's tables", () => {
  it('have its headers, whatever was measured, and those of a request rate', () => {
    const empty = tablesOf([]);
    expect(Object.fromEntries(Object.entries(empty).map(([name, [first]]) => [name, first]))).toEqual(headers);
    expect(Object.values(empty).every((lines) => lines.length === 1)).toBe(true);
    const rates = tablesOf([], { levels: { mode: 'request-rate', low: 1, high: 9 } });
    expect(rates['metrics-model-inference.csv']?.[0]).toBe(
      headers['metrics-model-inference.csv'].replace('Concurrency', 'Request Rate'),
    );
  });

  it('list the best config first, of each what meets the goal first, and no trial that could not be measured', () => {
    const lines = tablesOf(
      [
        ...trial(0, originalConfig, [measured(1, 100.0004, 5.1236)]),
        ...trial(1, configOf(2, 8), [measured(1, 90, 4), measured(4, 400, 9), measured(2, 180, 6)]),
        ...trial(2, configOf(3, 8), []),
        ...trial(3, configOf(3, 4), [measured(1, 50, 20)]),
      ],
      { spec: toSpec({ model: 'net', batch: 2 }) },
    );
    expect(lines['metrics-model-inference.csv']?.slice(1)).toEqual([
      'net,2,2,net_config_1,2:CPU,8,Yes,180,6',
      'net,2,1,net_config_1,2:CPU,8,Yes,90,4',
      'net,2,4,net_config_1,2:CPU,8,No,400,9',
      'net,2,1,net_config_default,1:CPU,4,Yes,100,5.124',
      'net,2,1,net_config_3,3:CPU,4,No,50,20',
    ]);
    expect(lines['metrics-model-gpu.csv']).toHaveLength(1);
    expect(lines['metrics-server-only.csv']).toHaveLength(1);
  });

  it('have a line for each GPU, and leave empty what nobody measured', () => {
    const gpus = [{ uuid: 'GPU-a', memoryBytes: 2e9, utilizationPercent: 0, powerW: 70.5 }, { uuid: 'GPU-b' }];
    const group = [
      { kind: 'KIND_GPU', count: 2, gpus: [0, 1] },
      { kind: 'KIND_CPU', count: 1 },
    ] as const;
    const config = { ...configOf(1, 8), instance_group: group } as unknown as ModelConfig;
    const lines = tablesOf(trial(0, config, [measured(1, 100, 5, { device: { gpus } })]));
    expect(lines['metrics-model-gpu.csv']?.slice(1)).toEqual([
      'net,GPU-a,1,1,net_config_default,4:GPU + 1:CPU,Yes,2000,0,70.5',
      'net,GPU-b,1,1,net_config_default,4:GPU + 1:CPU,Yes,,,',
    ]);
    expect(lines['metrics-server-only.csv']?.slice(1)).toEqual(['triton-server,GPU-a,,,', 'triton-server,GPU-b,,,']);
  });

  it('put the models of a pipeline into one cell, each part with the number of the trial that first had it', () => {
    const { records, started } = pipelineOf([
      ['encoder', 2],
      ['head', 3],
    ]);
    const lines = tablesOf(records, started);
    expect(lines['metrics-model-inference.csv']?.slice(1)).toEqual([
      'net,1,1,"net_config_2: encoder_config_default, head_config_2","1:CPU,3:CPU","4,4",Yes,300,5',
      'net,1,1,"net_config_1: encoder_config_1, head_config_default","2:CPU,1:CPU","4,4",Yes,200,5',
      'net,1,1,"net_config_default: encoder_config_default, head_config_default","1:CPU,1:CPU","4,4",Yes,100,5',
    ]);
  });

  it('have the figures of each model behind those of all where requests go to several side by side', () => {
    const { records, started } = pipelineOf([['encoder', 2]]);
    const fronts = [
      { model: 'encoder', steps: [{ stage: 'encoder' }] },
      { model: 'head', steps: [{ stage: 'head' }] },
    ];
    const mixed = records.map((record) => {
      if (record.type !== 'trial-measured') return record;
      const { measurement } = record;
      const own = (model: string, value: number) => ({ ...measurement, ...measured(value, value, 4), model });
      return { ...record, measurement: { ...measurement, fronts: [own('encoder', 3), own('head', 1)] } };
    });
    const lines = tablesOf(mixed, { ...started, topology: { fronts, stages: ['encoder', 'head'] } });
    expect(lines['metrics-model-inference.csv']?.[1]).toBe(
      '"encoder,head",1,"3,1","encoder_config_1,head_config_default","2:CPU,1:CPU","4,4",Yes,"200, [3,1]","5, [4,4]"',
    );
  });
});

/**
 * A study of the ensemble `net` over two models, and a trial for each change of one model's
 * instances.
 */
function pipelineOf(changes: readonly (readonly [model: string, instances: number])[]) {
  const models = { encoder: { ...originalConfig, name: 'encoder' }, head: { ...originalConfig, name: 'head' } };
  const original = jointOriginal(models, { net: { name: 'net', platform: 'ensemble', max_batch_size: 4 } }, 'net');
  const space = spaceFromJson({ parameters: { instances: [1, 2, 3] } });
  const joint = joinSpaces({ encoder: space, head: space }, original, 'net');
  const candidates = [
    original,
    ...changes.map(([model, instances]) => {
      const outcome = buildJoint(joint, { [`${model}/instances`]: instances });
      if (!outcome.legal) throw new Error(outcome.reason);
      return outcome.candidate;
    }),
  ];
  const records = candidates.flatMap((candidate, number) =>
    trial(number, originalConfig, [measured(1, 100 * (number + 1), 5)]).map(
      (record): StudyRecord => (record.type === 'trial-started' ? { ...record, candidate } : record),
    ),
  );
  const steps = [{ stage: 'encoder' }, { stage: 'head' }];
  return {
    records,
    started: { original, topology: { fronts: [{ model: 'net', steps }], stages: ['encoder', 'head'] } },
  };
}
