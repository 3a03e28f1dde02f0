import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { recordedWorkload } from '#app/workload-from-log.ts';
import { NS_PER_S } from '#base/units.ts';
import { classOfTarget, type LogRule } from '#workload/log-tally.ts';
import type { Phase, TraceArrivals } from '#workload/workload.ts';
import { freshDirectory } from '../support/run-directory.ts';

const recorded = async (content: string | readonly string[], rule: Partial<LogRule> = {}) => {
  const folder = await freshDirectory();
  const texts = typeof content === 'string' ? [content] : content;
  const files = texts.map((_, index) => join(folder, `log-${index}`));
  for (const [index, text] of texts.entries()) await writeFile(files[index] as string, text);
  return recordedWorkload(files, { mostClasses: 8, ...rule });
};
type Recorded = Awaited<ReturnType<typeof recorded>>;

/** Each request as its second and its class. */
const requestsOf = ({ classes, phases }: Recorded): readonly string[] => {
  const { timesNs, classOf } = (phases[0] as Phase).arrivals as TraceArrivals;
  return [...timesNs].map((ns, index) => {
    const name = classes[classOf?.[index] ?? 0]?.name;
    return `${Number((ns / NS_PER_S).toFixed(6))} ${name}`;
  });
};

const access = (second: string, target: string): string =>
  `10.0.0.1 - frank [10/Oct/2025:13:55:${second} -0700] "POST ${target} HTTP/1.1" 200 2326 "-" "curl/8"`;

describe('a log', () => {
  it('in the Combined Log Format becomes a trace by model, spread over the seconds of its clock', async () => {
    const workload = await recorded(
      [
        access('36', '/v2/models/resnet/infer'),
        access('36', '/v2/models/bert/versions/2/infer'),
        access('37', '/v2/health/ready'),
        access('39', '/v2/models/resnet/infer'),
        'not a request',
        access('38', '/predict/123?x=1'),
        '',
      ].join('\n'),
    );
    expect(requestsOf(workload)).toEqual(['0 resnet', '0 bert', '2 /predict/:id', '3 resnet']);
    expect(workload.phases[0]).toMatchObject({ durationS: 4, arrivals: { resolutionNs: NS_PER_S } });
    expect(workload.classes).toEqual([
      { name: 'resnet', weight: 0.5, limits: {}, model: 'resnet' },
      { name: 'bert', weight: 0.25, limits: {}, model: 'bert' },
      { name: '/predict/:id', weight: 0.25, limits: {} },
    ]);
    expect(workload.notes.join('\n')).toContain('1 health checks');
    expect(workload.notes.join('\n')).toContain('1 lines are not requests');
  });

  it('may be in files that follow each other, with times of several zones', async () => {
    const utc = access('36', '/a').replace('13:55:36 -0700', '20:55:40 +0000');
    expect(requestsOf(await recorded([access('36', '/a'), utc]))).toEqual(['0 /a', '4 /a']);
  });

  it.each([
    [
      'JSON lines with a model',
      '{"ts": "2025-01-01T00:00:00.5Z", "model": "a"}\n{"ts": "2025-01-01T00:00:02.75Z", "model": "b"}\n',
      {},
    ],
    [
      'JSON lines with fields that are named',
      '{"at": 100.5, "what": {"kind": "a"}}\n{"at": 102.75, "what": {"kind": "b"}}\n',
      { column: 'at', classColumn: 'what.kind' },
    ],
    ['CSV', 'time,status,model\n100.5,200,a\n102.75,200,b\n', {}],
  ])('may be %s', async (_, content, rule) => {
    expect(requestsOf(await recorded(content, rule))).toEqual(['0 a', '2.25 b']);
  });

  it('has one class where nothing says more, and what matches alone', async () => {
    expect(requestsOf(await recorded('0.5\n1.25\n'))).toEqual(['0 default', '0.75 default']);
    const two = [access('01', '/a'), access('02', '/b'), access('03', '/b')].join('\n');
    const matching = await recorded(two, { match: /b$/ });
    expect(requestsOf(matching)).toEqual(['0 /b', '1 /b']);
    expect(matching.phases[0]).toMatchObject({ arrivals: { classOf: null } });
    await expect(recorded(two, { match: /c/ })).rejects.toMatchObject({ code: 'INPUT_INVALID' });
  });

  it('has its rarest classes put together', async () => {
    const targets = ['/a', '/a', '/a', '/b', '/b', '/c', '/d'];
    const workload = await recorded(targets.map((target) => access('01', target)).join('\n'), { mostClasses: 3 });
    expect(workload.classes.map(({ name, weight }) => [name, weight])).toEqual([
      ['/a', 0.4286],
      ['/b', 0.2857],
      ['other', 0.2857],
    ]);
    expect(requestsOf(workload).filter((each) => each.endsWith('other'))).toHaveLength(2);
  });

  it.each(['hello there\nhow are you\n', '', access('01', '/a').concat('\nx'.repeat(40))])(
    '%j is refused',
    async (text) => {
      await expect(recorded(text)).rejects.toMatchObject({ code: 'INPUT_INVALID' });
    },
  );
});

describe('the class of a request', () => {
  it.each([
    ['/v2/models/my%20net/infer', 'my net', 'my net'],
    ['https://host:8000/v2/models/llm/generate_stream?x', 'llm', 'llm'],
    ['/v1/chat/completions', '/v1/chat/completions', null],
    ['/users/0f8fad5b-d9cb-469f-a165-70867728950e/score?deep=1', '/users/:id/score', null],
    ['/inference.GRPCInferenceService/ModelInfer', '/inference.GRPCInferenceService/ModelInfer', null],
  ])('of %s is %s', (target, name, model) => {
    expect(classOfTarget(target)).toEqual({ name, model });
  });

  it.each([
    '/v2/health/live',
    '/metrics',
    '/healthz',
    '/v2/models/m/stats',
    '/v2',
    '/inference.GRPCInferenceService/ServerLive',
  ])('there is none of %s', (target) => expect(classOfTarget(target)).toBeNull());
});

describe('a trace file of Triton', () => {
  it('becomes a trace by model', async () => {
    const moment = (id: number, model: string, ms: number, parent?: number) => ({
      id,
      model_name: model,
      model_version: 1,
      ...(parent === undefined ? {} : { parent_id: parent }),
      timestamps: [
        { name: 'REQUEST_START', ns: ms * 1e6 },
        { name: 'REQUEST_END', ns: ms * 1e6 + 5e5 },
      ],
    });
    const traces = [moment(1, 'pipe', 1000), moment(2, 'inner', 1001, 1), moment(3, 'plain', 1250)];
    const workload = await recorded(JSON.stringify(traces));
    expect(requestsOf(workload)).toEqual(['0 pipe', '0.25 plain']);
    expect(workload.classes).toMatchObject([{ model: 'pipe' }, { model: 'plain' }]);
  });
});

describe('counters of Prometheus', () => {
  const range = (series: Readonly<Record<string, readonly number[]>>, name = 'nv_inference_request_success') =>
    JSON.stringify({
      status: 'success',
      data: {
        resultType: 'matrix',
        result: Object.entries(series).map(([model, counts]) => ({
          metric: { __name__: name, model },
          values: counts.map((count, index) => [1000 + 10 * index, String(count)]),
        })),
      },
    });

  it('become phases of the rates between readings, alike ones together, and begin anew where they go back', async () => {
    const a = [500, 1500, 2510, 3500, 6500, 9520, 1000];
    const b = [0, 100, 200, 300, 400, 500, 600];
    const { classes, phases } = await recorded(range({ a, b }));
    expect(classes).toMatchObject([
      { name: 'a', model: 'a' },
      { name: 'b', model: 'b' },
    ]);
    expect(phases).toMatchObject([
      { durationS: 30, arrivals: { process: 'poisson', perSecond: 110 }, mix: { from: [100, 10] } },
      { durationS: 20, arrivals: { process: 'poisson', perSecond: 311 }, mix: { from: [301, 10] } },
      { durationS: 10, arrivals: { process: 'poisson', perSecond: 110 }, mix: { from: [100, 10] } },
    ]);
    expect((await recorded(range({ a, b }), { match: /^b$/ })).phases).toHaveLength(1);
  });

  it('may be scrapes, of the time in them', async () => {
    const page = (count: number, failed: number, second: number): string =>
      [
        '# HELP nv_inference_request_success Number of successful inference requests, all batch sizes',
        '# TYPE nv_inference_request_success counter',
        `nv_inference_request_success{model="m",version="1"} ${count} ${second * 1000}`,
        `nv_inference_request_failure{model="m",version="1",reason="OTHER"} ${failed} ${second * 1000}`,
        `nv_inference_count{model="m",version="1"} ${count * 8} ${second * 1000}`,
      ].join('\n');
    const { phases, notes } = await recorded([page(10, 0, 100), page(110, 10, 110), page(1110, 10, 120)]);
    expect(phases).toMatchObject([
      { durationS: 10, arrivals: { perSecond: 11 } },
      { durationS: 10, arrivals: { perSecond: 100 } },
    ]);
    expect(notes[0]).toBe('counters: 1110 requests in 3 readings, phases: 2');
  });

  it.each([
    ['one reading', range({ a: [1] }), 'fewer than two readings'],
    ['no request', range({ a: [1, 1, 1] }), 'do not change'],
    ['a rate', range({ a: [5, 3, 6, 2, 7, 1, 9, 4, 8, 3] }), 'not a counter'],
    ['another counter', range({ a: [1, 2] }, 'nv_gpu_utilization'), 'no request counter'],
    ['a broken answer', `${range({ a: [1, 2] })}x`, 'cannot read'],
  ])('with %s are refused', async (_, content, what) => {
    await expect(recorded(content)).rejects.toThrow(what);
  });
});
