import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { NS_PER_S } from '#base/units.ts';
import { computeMeanRate, createPlan } from '#workload/plan/plan-of.ts';
import { parseWorkload, readWorkload } from '#workload/read-workload.ts';
import type { Phase, TraceArrivals } from '#workload/workload.ts';
import { workloadJsonSchema } from '#workload/workload-schema.ts';
import { freshDirectory } from '../support/run-directory.ts';

const published = resolve(import.meta.dirname, '../../docs/workload.schema.json');

const evening = `workloadVersion: 1
classes:
  thumb: { weight: 3, limitMs: 40 }
  photo: { weight: 1, limitMs: 200, model: resnet, requests: { batch: 4, inputData: [photo.json, zero] } }
phases:
  - { durationS: 60, arrivals: { process: poisson, perSecond: 200 } }
  - { durationS: 60, arrivals: { process: gamma, perSecond: 200, cv: 3 }, weights: { thumb: 1, photo: 1 } }
  - { durationS: 60, arrivals: { process: ramp, fromPerSecond: 50, toPerSecond: 400 }, weights: { from: { thumb: 1 }, to: { photo: 1 } } }
  - { durationS: 600, arrivals: { process: diurnal, perSecond: 100, peakRatio: 3 } }
`;

/** The refusal of a text. */
const refusal = (text: string): Promise<unknown> =>
  parseWorkload(text, '/data/evening.yaml').then(
    () => 'it was read',
    (error: unknown) => error,
  );

describe('a workload file', () => {
  it('is read with its defaults, and paths from where it lies', async () => {
    const workload = await parseWorkload(evening, '/data/evening.yaml');
    expect(workload.name).toBe('evening');
    expect(workload.classes).toEqual([
      { name: 'thumb', weight: 3, limits: { e2eNs: 40e6 } },
      {
        name: 'photo',
        weight: 1,
        limits: { e2eNs: 200e6 },
        model: 'resnet',
        requests: { batch: 4, inputData: ['/data/photo.json', 'zero'] },
      },
    ]);
    expect(workload.phases.map(({ arrivals, mix }) => ({ arrivals, mix }))).toMatchObject([
      { arrivals: { process: 'poisson', cv: 1 }, mix: { from: [3, 1], to: [3, 1] } },
      { arrivals: { process: 'gamma', cv: 3 }, mix: { from: [1, 1], to: [1, 1] } },
      { arrivals: { process: 'ramp', cv: 1 }, mix: { from: [1, 0], to: [0, 1] } },
      { arrivals: { process: 'diurnal', periodS: 86_400, peakAtS: 300 } },
    ]);
    expect(computeMeanRate(workload)).toBeGreaterThan(100);
  });

  it('without classes has one, and with limits of tokens has those of a language model', async () => {
    const phases = [{ durationS: 1, arrivals: { process: 'constant', perSecond: 1 } }];
    const plain = await parseWorkload(JSON.stringify({ workloadVersion: 1, phases }), 'x.json');
    expect(plain).toMatchObject({ name: 'x', classes: [{ name: 'default', weight: 1, limits: {} }], sessions: null });
    const classes = { chat: { ttftMs: 200, itlMs: 50, tpotMs: 30, limitMs: 9000 } };
    const spoken = await parseWorkload(JSON.stringify({ workloadVersion: 1, name: 'talk', phases, classes }), 'x.json');
    expect(spoken.classes[0]?.limits).toEqual({ ttftNs: 200e6, itlNs: 50e6, tpotNs: 30e6, e2eNs: 9e9 });
  });

  it.each([
    ['cv: 3', 'cv: -3', 7, 'phases.1.arrivals.cv: it is too small', 'write 0 or more'],
    ['cv: 3', 'cw: 3', 7, "phases.1.arrivals: 'cw' is not known here (did you mean 'cv'?)", 'process, perSecond, cv'],
    [
      'gamma',
      'gama',
      7,
      'phases.1.arrivals.process: there is no such arrival process',
      'gamma, ramp, diurnal or trace',
    ],
    ['durationS: 60, ', '', 6, 'phases.0.durationS: it is missing', 'write the seconds'],
    ['perSecond: 200', 'perSecond: x', 6, 'phases.0.arrivals.perSecond: expected number', 'write a number'],
    ['{ photo: 1 }', '{ foto: 1 }', 8, "phases.2.weights.to.foto: there is no class 'foto'", 'thumb, photo'],
    ['{ thumb: 1 }', '{ thumb: 0 }', 8, 'phases.2.weights.from: no class has a weight', 'above 0'],
    [
      'limitMs',
      'limitms',
      3,
      "classes.thumb: 'limitms' is not known here (did you mean 'limitMs'?)",
      'weight, limitMs',
    ],
    ['Version: 1', 'Version: 2', 1, 'workloadVersion: expected 1', 'write 1'],
    ['batch: 4', 'batch: 0', 4, 'classes.photo.requests.batch: it is too small', 'write more than 0'],
    [
      'process: poisson, perSecond: 200',
      'process: trace',
      6,
      'phases.0.arrivals: a trace needs either a file or',
      'file: PATH',
    ],
    [
      'process: poisson, perSecond: 200',
      'process: trace, atS: [0], classOf: [x]',
      6,
      "classOf.0: there is no class 'x'",
      'thumb',
    ],
  ])('with %s as %s is refused at its line with what to write', async (from, to, line, what, hint) => {
    const error = await refusal(evening.replace(from, to));
    expect(error).toMatchObject({ code: 'INPUT_INVALID' });
    expect(String(error)).toContain(`/data/evening.yaml, line ${line}: `);
    expect(String(error)).toContain(what);
    expect((error as { hint: string }).hint).toContain(hint);
  });

  it('in which no request ever comes is refused', async () => {
    const phases = ['process: poisson, perSecond: 0', 'process: ramp, fromPerSecond: 0, toPerSecond: 0'];
    const text = phases.map((phase) => `  - { durationS: 5, arrivals: { ${phase} } }`).join('\n');
    expect(String(await refusal(`workloadVersion: 1\nphases:\n${text}\n`))).toContain(
      'line 2: phases: it has no requests',
    );
  });

  it.each(['', '[]', 'a: [', '{workloadVersion: 1, phases: []}'])('that says %j is refused', async (text) => {
    expect(await refusal(text)).toMatchObject({ code: 'INPUT_INVALID' });
  });

  // To bring the file up to date: npx vitest run --project unit test/workload/file.test.ts
  // -u
  it('has the JSON Schema in docs/', async () => {
    await expect(`${JSON.stringify(workloadJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(published);
  });
});

const tracePhase = async (content: string | Buffer, arrivals: object, name = 'trace.csv', more: object = {}) => {
  const folder = await freshDirectory();
  const path = join(folder, 'workload.yaml');
  await mkdir(join(folder, 'deep'));
  await writeFile(join(folder, 'deep', name), content);
  const phase = { arrivals: { process: 'trace', file: `deep/${name}`, ...arrivals } };
  await writeFile(path, JSON.stringify({ workloadVersion: 1, phases: [phase], ...more }));
  return readWorkload(path);
};
const secondsOf = ({ phases }: Awaited<ReturnType<typeof tracePhase>>): readonly number[] =>
  [...((phases[0] as Phase).arrivals as TraceArrivals).timesNs].map((ns) => Math.round(ns / 1e3) / 1e6);

describe('the files of a workload', () => {
  const requests = { batch: 1, inputData: ['../secret.json'] };
  it.each([
    ['a trace', { phases: [{ arrivals: { process: 'trace', file: '../trace.csv' } }] }],
    ['an absolute trace', { phases: [{ arrivals: { process: 'trace', file: '/etc/hostname' } }] }],
    [
      'input data',
      {
        classes: { a: { requests } },
        phases: [{ durationS: 1, arrivals: { process: 'poisson', perSecond: 1 } }],
      },
    ],
  ])('stay in its folder: %s', async (_, content) => {
    const path = join(await freshDirectory(), 'workload.yaml');
    await writeFile(path, JSON.stringify({ workloadVersion: 1, ...content }));
    await expect(readWorkload(path)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('lies outside of'),
    });
  });
});

describe('a trace of a file', () => {
  it.each([
    ['seconds, one a line', '# of a log\n10\n10.5\n\n12\n', {}],
    ['milliseconds by name', '10000\n10500\n12000\n', { unit: 'ms' }],
    ['Unix times in milliseconds', '1700000000000\n1700000000500\n1700000002000\n', {}],
    ['CSV with the usual name, out of order', 'id,Timestamp\n1,12\n2,10\n"3, or 4",10.5\n', {}],
    ['CSV with a column that is named', 'when,what\n5,a\n5.5,b\n7,a\n', { column: 'when' }],
    [
      'Azure’s times of requests',
      'TIMESTAMP,ContextTokens,GeneratedTokens\n2023-11-16 18:15:46.6805900,374,44\n2023-11-16 18:15:47.1805900,1,0\n2023-11-16 18:15:48.6805900,5,6\n',
      {},
    ],
    ['Azure’s times of functions', 'app,func,end_timestamp,duration\na,f,4,3\na,f,1.75,0.25\na,g,3.5,0.5\n', {}],
    [
      'Mooncake’s milliseconds',
      '{"timestamp": 0, "input_length": 5, "output_length": 2, "hash_ids": [0]}\n{"timestamp": 500, "input_length": 5}\n{"timestamp": 2000, "input_length": 5}\n',
      {},
    ],
    [
      'a list of JSON with a path',
      '[{"r": {"at": "2024-01-01T00:00:59.500Z"}}, {"r": {"at": "2024-01-01T00:01:00Z"}}, {"r": {"at": "2024-01-01T01:01:01.5+01:00"}}]',
      { column: 'r.at' },
    ],
    ['a slice', '0\n3\n100\n100.5\n102\n103\n', { slice: { fromS: 100, toS: 103 } }],
  ])('may have %s', async (_, content, arrivals) => {
    expect(secondsOf(await tracePhase(content, arrivals))).toEqual([0, 0.5, 2]);
  });

  it('may be compressed, and is refused where it is damaged or missing', async () => {
    const zipped = gzipSync('0\n0.5\n2\n');
    expect(secondsOf(await tracePhase(zipped, {}, 'trace.csv.gz'))).toEqual([0, 0.5, 2]);
    const damaged = tracePhase(zipped.subarray(0, 15), {}, 'trace.csv.gz');
    await expect(damaged).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    await expect(tracePhase('0\n', { file: 'none.csv.gz' })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  it('lasts a mean gap longer than its span, or as long as its slice or its phase', async () => {
    expect((await tracePhase('0\n1\n2\n3\n', {})).phases[0]?.durationS).toBe(4);
    expect((await tracePhase('0\n1\n2\n3\n', { slice: { fromS: 1, toS: 2.5 } })).phases[0]?.durationS).toBe(1.5);
  });

  it('has classes by a column', async () => {
    const classes = { 'GPT-4': {}, ChatGPT: {} };
    const content = 'Timestamp,Model,Request tokens\n5,ChatGPT,472\n45,GPT-4,10\n46,ChatGPT,1\n';
    const workload = await tracePhase(content, { classColumn: 'model' }, 'burst.csv', { classes });
    const { arrivalsNs, classOf } = createPlan(workload, { seed: 1 });
    expect([...arrivalsNs]).toEqual([0, 40 * NS_PER_S, 41 * NS_PER_S]);
    expect([...classOf]).toEqual([1, 0, 1]);
  });

  it.each([
    ['1\nx\n', {}, 'line 2', "'x' is not a time"],
    ['1\n1e308\n', {}, 'line 2', "'1e308' is not a time"],
    ['a,b\n1,2\n', {}, 'line 1', 'no column has the name of a time'],
    ['ts,b\n1,2\n', { column: 'tz' }, 'line 1', "no column 'tz' (did you mean 'ts'?)"],
    ['ts,b\n1,2\n5\n', {}, 'line 3', 'it has 1 of 2 columns'],
    ['ts,b\n1,other\n', { classColumn: 'b' }, 'line 2', "class 'other'"],
    ['{"ts": 1}\n{"tx": 1}\n', {}, 'line 2', "no field 'ts'"],
    ['{"ts": 1}\n{"ts"\n', {}, 'line 2', 'not JSON'],
    ['', {}, 'line 1', 'no arrival'],
    ['1,2\n', {}, 'line 1', 'neither a number nor the header'],
  ])('%j is refused with its line', async (content, arrivals, line, what) => {
    const error: unknown = await tracePhase(content, arrivals).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'INPUT_INVALID' });
    expect(String(error)).toContain(line);
    expect(String(error)).toContain(what);
  });
});
