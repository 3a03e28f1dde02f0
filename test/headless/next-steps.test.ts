import { describe, expect, it } from 'vitest';
import { commandWords } from '#adapter/engine/command-words.ts';
import { profileCommand } from '#headless/next-commands.ts';
import { type EndedRun, nextSteps } from '#headless/next-steps.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { FlatStudyOptions } from '#spec/tune-options.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord, StudyStarted } from '#study/records/records.ts';
import { summarize } from '#study/summary/summary.ts';
import type { Summary } from '#study/summary/summary-schema.ts';
import type { Verdict } from '#study/summary/verdict.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { configOf, goalOf, measured, originalConfig, studyStarted, toCandidate } from '../study/builders.ts';
import { parseCommandLine } from '../support/parse-command-line.ts';

const at = '2026-01-01T00:00:00.000Z';
const load = { mode: 'concurrency', value: 32 } as const;

/** The beginning of a study that a command line asked for. */
async function startedBy(line: string, more: Partial<StudyStarted> = {}): Promise<StudyStarted> {
  const { unknown, options } = await parseCommandLine(commandWords(line));
  expect(unknown).toEqual([]);
  const spec: StudySpec = toSpec({ ...options, model: options.model?.toString() } as unknown as FlatStudyOptions);
  return { ...studyStarted(goalOf(8)), model: spec.model, spec, ...more };
}

/** A summary with a best config that serves most at 32 requests in flight. */
async function summaryOf(started: StudyStarted, verdict: Verdict, more: Partial<Summary> = {}): Promise<Summary> {
  const trial = (number: number, config: ModelConfig, role: 'baseline' | 'search', rate: number): StudyRecord[] => [
    { type: 'trial-started', at, trial: number, role, candidate: toCandidate(config) },
    { type: 'trial-measured', at, trial: number, measurement: measured(32, rate, 7) },
    { type: 'trial-finished', at, trial: number, chosen: 0, feasible: true, failure: null },
  ];
  const records = [
    { ...started, topology: undefined },
    ...trial(0, originalConfig, 'baseline', 100),
    ...trial(1, configOf(2, 4), 'search', 240),
  ] as readonly StudyRecord[];
  return { ...summarize(foldStudy(records), 'j'), verdict, interrupted: false, emulated: null, ...more };
}

const files = { summary: 'runs/my run/summary.json', report: null, emitted: ['m/config.pbtxt'] };

async function stepsOf(line: string, verdict: Verdict, more: Partial<EndedRun> = {}, change: Partial<Summary> = {}) {
  const started = more.started ?? (await startedBy(line));
  return nextSteps(await summaryOf(started, verdict, change), { started, ...files, ...more });
}

describe('the steps after a run', () => {
  it('serve the best config, measure a baseline, and compare each build with it', async () => {
    const remote = await stepsOf('tune -m m -u box:9001 --token-env TOKEN', 'better');
    const server = '-u box:9001 -i grpc --token-env TOKEN --concurrency-range 16:32:8 --json';
    expect(remote).toEqual([
      "keep it: copy the folder runs/my run/best/m into the server's model repository",
      expect.stringMatching(
        /^or only until the server restarts: tritune config --from 'runs\/my run\/best\/m\/config\.pbtxt' -m m -u \S+ -i grpc --token-env TOKEN --load$/,
      ),
      `baseline for CI: tritune profile -m m ${server} baseline.json`,
      `in each build: tritune profile -m m ${server} run.json && tritune compare baseline.json run.json`,
    ]);
  });

  it('copy the whole folder where the repository is known, so that the files of a variant come along', async () => {
    const emitted = ['m/config.pbtxt', 'm/1/model.onnx'];
    const local = 'tune -m m --launch local --model-repository';
    expect((await stepsOf(`${local} 'my models'`, 'better', { emitted }))[0]).toBe(
      "keep it: cp -r 'runs/my run/best/.' 'my models'",
    );
    const [copy, next] = await stepsOf('tune -m m', 'better', { emitted });
    expect(copy).toBe("keep it: copy the folder runs/my run/best/m into the server's model repository");
    // A config that is loaded has no files.
    expect(next).toMatch(/^baseline for CI/);
  });

  it('follow the verdict', async () => {
    const emulated = { emulated: 'demo' };
    const first = async (verdict: Verdict, change: Partial<Summary> = {}) =>
      (await stepsOf('tune -m m -u box:8001', verdict, { report: 'r.html' }, change)).map((step) => step.split(':')[0]);
    expect(await first('nothing-better')).toEqual(['look at it', 'baseline for CI', 'in each build']);
    expect(await first('unconfirmed')).toEqual([
      ...['look at it', 'confirm the gain', 'keep it', 'or only until the server restarts'],
    ]);
    expect(await first('infeasible')).toEqual([
      ...['look at it', 'allow a higher latency, or search longer (--time-budget, --max-trials)'],
    ]);
    expect(await first('not-measured', { best: null })).toEqual(['find out why']);
    expect(await first('better', { interrupted: true })).toEqual(['look at it', 'go on with it']);
    const guided = 'tune a model of your server, step by step';
    expect(await first('better', emulated)).toEqual(['look at it', guided, 'baseline for CI', 'in each build']);
    expect((await stepsOf('tune -m m', 'unconfirmed'))[0]).toBe(
      "confirm the gain: tritune tune --resume 'runs/my run' --time-budget 10m",
    );
  });

  it('run the command of an engine, and name the settings of another server', async () => {
    const engine = "tune -m llm --endpoint openai --launch-command 'serve --port {port} {flags}' --input-tokens 64:128";
    const steps = await stepsOf(engine, 'better', {
      started: await startedBy(engine, { adapter: 'engine' }),
      emitted: ['launch.sh', 'settings.json'],
    });
    expect(steps[0]).toBe("serve it: sh 'runs/my run/best/launch.sh'");
    expect(steps[1]).toContain('profile -m llm --endpoint openai -u localhost:8000 --input-tokens 64:128 --concur');
    const other = { started: await startedBy('tune -m m', { adapter: 'knobs' }), emitted: ['settings.json'] };
    expect(await stepsOf('', 'better', other)).toEqual([
      'keep it: give your server the settings in runs/my run/best/settings.json',
    ]);
  });

  it('measure each model of several at its share of the load', async () => {
    const started = await startedBy('tune -m a --together a,b -u box:8001', {
      topology: { fronts: ['a', 'b'].map((model) => ({ model, steps: [] })), stages: ['a', 'b'] },
    });
    const emitted = ['a/config.pbtxt', 'b/config.pbtxt'];
    const [, before] = await stepsOf('', 'better', { started, emitted });
    expect(before).toMatch(
      / profile -m a .* --concurrency-range 8:16:4 --json a-baseline\.json && tritune profile -m b .* --json b-baseline/,
    );
  });
});

describe('a printed profile', () => {
  it.each([
    '-u https://box:8443 -i http --tls-ca "my ca.pem" --tls-server-name s --header-env X-A:VAR --header-file h.txt',
    '--launch local --model-repository models --server-arg --log-verbose=1 --server-arg --x=y --server-cpus 0-3',
    '--launch docker --model-repository models --docker-image img:1 --docker-gpus none --docker-arg --shm-size=1g',
    '--launch emulator:demo -b 4 --input-data a.json --input-data dir --shape x:3,224 --shape "y y:1" --integers -5:9',
    '-u b:1 --integers 0:30000 --integers "token ids=0:1"',
    '-u b:1 --string-data "it\'s" --string-length 3 --request-parameter priority:2:int --request-parameter "a:b c:string"',
    '-u b:1 --sequence-length 9 --sequence-length-variation 5 --sequence-ids 1:99 --streaming --compression gzip',
    '-u b:1 -i http --tensor-format json --shared-memory system --output-shared-memory-size 64 --client-threads 2',
    '-u b:1 --agents h1:7411,h2:7411 --agent-token-env T --agent-tls-ca c.pem --agent-clock-limit-ms 9 --max-errors 5',
    '-u b:1 --percentile 95',
    '-u b:1 --endpoint openai --prompt-file p.jsonl --output-tokens normal:64,8,,128 --sessions --ignore-eos no',
    '-u b:1 --endpoint openai --input-tokens log-normal:512,128,16 --turns 2:5 --think-time-ms 100 --prefix-tokens 8',
  ])('asks for what the study asked for: %s', async (line) => {
    const started = await startedBy(`tune -m m ${line}`);
    const command = profileCommand(started, 'm', load, 'run.json');
    const { unknown, options } = await parseCommandLine(commandWords(command ?? '').slice(1));
    expect(unknown).toEqual([]);
    const asked = (await parseCommandLine(commandWords(`tune -m m ${line}`))).options;
    const named = [...line.matchAll(/(?:^| )--?([a-z][a-z-]+)/g)].map(([, flag = '']) =>
      flag.replaceAll(/-([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    );
    const shared = named.filter((name) => name in options && name in asked);
    expect(shared.length).toBeGreaterThan(0);
    for (const name of shared)
      if (name !== 'url' || !line.includes('endpoint')) expect(options[name], name).toEqual(asked[name]);
    if (!line.includes('endpoint')) expect(options.protocol).toBe(started.spec.server.protocol);
  });

  it('has the batch of the level where the study varies it', async () => {
    const started = await startedBy('tune -m m -u box:8001 --batch-size 1:16');
    expect(profileCommand(started, 'm', { ...load, batch: 8 }, 'run.json')).toMatch(/ -b 8 .*--concurrency-range /);
  });

  it('has three levels below the best one, and the workload instead where there was one', async () => {
    const started = await startedBy('tune -m m -u b:1');
    const range = (value: number, mode: 'concurrency' | 'request-rate' = 'concurrency') =>
      / --(?:concurrency|request-rate)-range (\S+)/.exec(profileCommand(started, 'm', { mode, value }, 'x') ?? '')?.[1];
    expect([1, 2, 3, 4, 7, 40].map((value) => range(value))).toEqual([
      ...['1:1:1', '1:2:1', '1:3:1', '2:4:1', '5:7:1', '20:40:10'],
    ]);
    expect(range(812.4, 'request-rate')).toBe('406:812:203');
    const workload = await startedBy('tune -m m -u b:1 --workload evening.yaml --time-scale 0.5');
    expect(profileCommand(workload, 'm', load, 'x')).toContain(' --workload evening.yaml --time-scale 0.5 --json x');
  });
});
