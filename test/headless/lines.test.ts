import { describe, expect, it } from 'vitest';
import { closingLines } from '#headless/closing.ts';
import { createLines } from '#headless/lines.ts';
import { buildJoint } from '#space/joint/build-joint.ts';
import { jointToJson } from '#space/joint/definition.ts';
import { joinSpaces } from '#space/joint/joint-space.ts';
import type { Assignment, Candidate } from '#space/types.ts';
import { toSpec } from '#spec/spec-of-options.ts';
import { labelledWords, reasonLabels } from '#study/analysis/explain/reasons.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import { summarize } from '#study/summary/summary.ts';
import type { Objective } from '#study/types.ts';
import { spaceOf } from '../space/fixtures.ts';
import { configOf, goalOf, measured, originalConfig, studyStarted, toCandidate } from '../study/builders.ts';
import { jointly, pipeline } from '../support/joint-records.ts';

const at = '2026-01-01T00:00:01.000Z';
const emulated = { ...studyStarted(goalOf(8)).server, name: 'tritune-emulator', emulated: 'demo' };
const records: StudyRecord[] = [
  studyStarted(goalOf(8), { server: emulated }),
  { type: 'trial-started', at, trial: 0, role: 'baseline', candidate: toCandidate(originalConfig) },
  { type: 'trial-measured', at, trial: 0, measurement: measured(4, 100, 5) },
  { type: 'trial-finished', at, trial: 0, chosen: 0, feasible: true, failure: null },
  { type: 'trial-started', at, trial: 1, role: 'search', candidate: toCandidate(configOf(2, 8), { instances: 2 }) },
  { type: 'trial-measured', at, trial: 1, measurement: measured(8, 250, 9, { stable: false }) },
  { type: 'trial-measured', at, trial: 1, measurement: measured(6, 240, 7) },
  { type: 'trial-finished', at, trial: 1, chosen: 1, feasible: true, failure: null },
  { type: 'readings-doubted', at, readings: [{ trial: 1, reading: 1 }] },
  { type: 'readings-doubted', at, readings: [] },
  { type: 'trial-started', at, trial: 2, role: 'search', candidate: toCandidate(configOf(3, 8), { instances: 3 }) },
  {
    type: 'trial-finished',
    at,
    trial: 2,
    chosen: null,
    feasible: false,
    failure: { kind: 'out-of-memory', reason: 'no\nmemory\u001b[2J' },
  },
  { type: 'round-voided', at, round: 2, slower: 2.44 },
  { type: 'model-restored', at, how: 'config', verified: true, detail: "'m' has its original config again" },
  {
    type: 'study-finished',
    at,
    stopReason: 'the limit of 2 trials was reached',
    notes: ['there was no time for all rounds of the final', 'another trial was expected to gain 3.0 %'],
    certificate: { confidence: 0.95, gain: 0.123, reason: null, configs: 80 },
    interrupted: false,
    wallSeconds: 12,
  },
];

describe('the lines of a run', () => {
  it('say what was tried, what it gave, and why it failed', () => {
    const lines: string[] = [];
    const onEvent = createLines((line) => lines.push(line));
    for (const record of records) {
      onEvent(record);
      if (record.type !== 'trial-started' || record.trial !== 1) continue;
      const level = { mode: 'concurrency', value: 8 } as const;
      onEvent({ type: 'starved', trial: 1, level, reason: 'the machine is overloaded' });
      onEvent({ type: 'server-away', reason: 'the server does not serve now', limitMs: 20_000 });
    }
    expect(lines).toEqual([
      'EMULATED SERVER (demo): these are not the figures of a real server',
      'model m on tritune-emulator 2.51.0 at localhost:8001 (grpc)',
      'goal: best throughput, p99 ≤ 8 ms; sampler grid, seed 1',
      'trial 0: the original config',
      '    concurrency 4: 100 infer/s ±2.0 %, p99 5 ms, within budget',
      'trial 1: instances=2',
      '    concurrency 8: measuring again, because the load generator was the limit: the machine is overloaded',
      '    the server does not serve now: waiting for it, 20 s at most',
      '    concurrency 8: 250 infer/s ±2.0 %, p99 9 ms, over budget, not stable',
      '    concurrency 6: 240 infer/s ±2.0 %, p99 7 ms, within budget',
      'the performance model doubts that trial 1 really meets the goal',
      'the performance model no longer doubts any trial that met the goal',
      'trial 2: instances=3',
      '    failed: out-of-memory: no memory [2J',
      '    round 2 is discarded: the original config was 2.4 times slower than before',
      "restored: 'm' has its original config again",
      'ended after 12 s: the limit of 2 trials was reached',
      '    there was no time for all rounds of the final',
      '    another trial was expected to gain 3.0 %',
      '    certificate: none of the 80 configs of the space is more than 12 % better (95 % sure)',
    ]);
  });
});

describe('the lines of a pipeline', () => {
  const [judge, topology] = [jointly({ tokenizer: 1, encoder: 1 }, 'judge'), pipeline];
  const spaces = {
    tokenizer: spaceOf('parameters: { instances: [1, 2], max_batch_size: [8, 16] }'),
    encoder: spaceOf('parameters: { instances: [1, 2], max_batch_size: [8, 16] }'),
  };
  const original = { ...judge, assignment: {} };
  const joint = joinSpaces(spaces, original, 'judge');
  const tried = (changes: Assignment): Candidate => {
    const built = buildJoint(joint, {
      'tokenizer/max_batch_size': 8,
      'tokenizer/instances': 1,
      'encoder/max_batch_size': 8,
      'encoder/instances': 1,
      ...changes,
    });
    if (built.legal) return built.candidate;
    throw new Error(built.reason);
  };
  const started = studyStarted(goalOf(8), { topology, original, space: jointToJson(joint) });
  const trial = (number: number, candidate: Candidate, throughput: number): StudyRecord[] => [
    { type: 'trial-started', at, trial: number, role: number === 0 ? 'baseline' : 'search', candidate },
    { type: 'trial-measured', at, trial: number, measurement: measured(4, throughput, 5) },
    { type: 'trial-finished', at, trial: number, chosen: 0, feasible: true, failure: null },
  ];
  const study = [
    started,
    ...trial(0, original, 100),
    ...trial(1, tried({ 'tokenizer/instances': 2, 'encoder/max_batch_size': 16, 'encoder/instances': 2 }), 250),
    ...trial(2, tried({ 'encoder/instances': 2 }), 120),
    ...trial(3, tried({}), 100),
  ];

  it('name only what differs from the original, model by model', () => {
    const lines: string[] = [];
    const onEvent = createLines((line) => lines.push(line));
    for (const record of study) onEvent(record);
    expect(lines.slice(2).filter((line) => !line.includes('concurrency') && !line.includes('busy'))).toEqual([
      'trial 0: the original config',
      'trial 1:',
      '    tokenizer: instances=2',
      '    encoder: max_batch_size=16 instances=2',
      'trial 2:',
      '    encoder: instances=2',
      'trial 3: the original config',
    ]);
  });

  it('name it at the end, too', () => {
    const run = { started, emitted: [], summary: 'run/summary.json', report: null };
    const lines = closingLines(summarize(foldStudy(study), 'j'), {}, { run });
    const at = lines.findIndex((line) => line.startsWith('best'));
    expect(lines.slice(at, at + 3)).toEqual([
      'best       trial 1:',
      '           tokenizer: instances=2',
      '           encoder: max_batch_size=16 instances=2',
    ]);
  });
});

describe('the lines about the noise at rest', () => {
  const floor = {
    ...({ type: 'noise-floor', level: { mode: 'concurrency', value: 1 }, percentile: 99, windows: 3 } as const),
    valueMs: 5,
    lowMs: 4.5,
    medianMs: 4,
  };
  const linesOf = (highMs: number, latencyMs: number | null): string[] => {
    const lines: string[] = [];
    const onEvent = createLines((line) => lines.push(line));
    const goal = goalOf(latencyMs);
    const spec = toSpec({ model: 'm', concurrency: { low: 1, high: 64 } });
    onEvent(studyStarted(goal, { spec }));
    onEvent({ ...floor, highMs, share: latencyMs === null ? null : (highMs - 4) / (latencyMs - 4) });
    return lines.slice(2);
  };

  it('are quiet, a note, or a warning with what helps', () => {
    expect(linesOf(5, 8)).toEqual([
      '    idle: p99 is 5 ms with one request in flight (4.5 to 5 by window); noise alone uses up 25 % of the headroom to your 8 ms budget',
    ]);
    expect(linesOf(5, null)).toEqual(['    idle: p99 is 5 ms with one request in flight (4.5 to 5 by window)']);
    expect(linesOf(6, 8)).toEqual([
      'note: p99 is 5 ms with one request in flight (4.5 to 6 by window); noise alone uses up 50 % of the headroom to your 8 ms budget',
    ]);
    expect(linesOf(9, 8)).toEqual([
      'warning: p99 is 5 ms with one request in flight (4.5 to 9 by window); in a bad window, noise alone exceeds your 8 ms budget',
      expect.stringMatching(/^ {4}try a quieter machine, a larger --latency-budget/),
    ]);
  });

  it('stand at the end too, where they need attention', () => {
    const closing = (highMs: number): string[] => {
      const [start, begun, , finished] = records;
      const measurement = measured(1, 250, 4, { windowPercentilesMs: { low: 4, high: highMs } });
      const one = [start, begun, { type: 'trial-measured', at, trial: 0, measurement }, finished] as StudyRecord[];
      return closingLines(summarize(foldStudy(one), 'j'), {}).filter((line) => /^noise|try a quieter/.test(line));
    };
    expect(closing(4.1)).toEqual([]);
    expect(closing(6)).toEqual([
      expect.stringMatching(/^noise {6}p99 is .* noise alone uses up 50 % of the headroom to your 8 ms budget$/),
    ]);
    expect(closing(9)).toHaveLength(2);
  });
});

describe('the lines of a run with constraints', () => {
  const goal = { ...goalOf(8), constraints: [{ metric: 'instances', relation: '<=' as const, value: 1 }] };
  const constrained = [studyStarted(goal), ...records.slice(1)];
  const linesOf = (events: readonly StudyRecord[], earlier: readonly StudyRecord[] = []): string[] => {
    const lines: string[] = [];
    const onEvent = createLines((line) => lines.push(line), earlier);
    for (const record of events) onEvent(record);
    return lines;
  };

  it('say which a measurement misses, and with what', () => {
    const lines = linesOf(constrained);
    expect(lines).toContain('    concurrency 4: 100 infer/s ±2.0 %, p99 5 ms, within budget');
    expect(lines).toContain(
      '    concurrency 6: 240 infer/s ±2.0 %, p99 7 ms, within budget, misses instances <= 1 with 2',
    );
  });

  it('say it of a resumed run as well, by the goal that holds then', () => {
    const cut = constrained.findIndex((record) => record.type === 'trial-measured' && record.trial === 1);
    const lines = linesOf(constrained.slice(cut), constrained.slice(0, cut));
    expect(lines[0]).toBe(
      '    concurrency 8: 250 infer/s ±2.0 %, p99 9 ms, over budget, misses instances <= 1 with 2, not stable',
    );
    const changed: StudyRecord = { type: 'goal-changed', at, goal: goalOf(6) };
    const [first] = linesOf(constrained.slice(cut + 1), [...constrained.slice(0, cut), changed]);
    expect(first).toBe('    concurrency 6: 240 infer/s ±2.0 %, p99 7 ms, over budget');
  });
});

describe('the closing lines', () => {
  const closing = (of: readonly StudyRecord[]): string[] =>
    closingLines(summarize(foldStudy(of), 'journal.jsonl'), { summary: 's.json', config: null });

  it('name the best, the original, the files, and last the state of the model', () => {
    const lines = closing(records);
    expect(lines[1]).toMatch(
      /^result +About 2\.40 times the throughput of your config within p99 ≤ 8 ms, by the search/,
    );
    expect(lines[2]).toMatch(/^emulated .*demo.*not figures of a real server/);
    expect(lines[3]).toMatch(/^best +trial 1: instances=2$/);
    expect(lines.find((line) => line.startsWith('original'))).toContain('100 infer/s');
    expect(lines).toContain('summary    s.json');
    const why = lines.indexOf('time       a request took 5 ms; now 7 ms');
    const reasons = summarize(foldStudy(records), '').explanation?.reasons ?? [];
    expect(reasons.length).toBeGreaterThan(2);
    expect(lines.slice(why + 1, why + 1 + reasons.length)).toEqual(
      reasons.map((reason) => `${reasonLabels[reason.about].padEnd(11)}${labelledWords(reason)}`),
    );
    expect(lines.at(-1)).toBe("model      'm' has its original config again");
  });

  it('count a trial of the original config at another level as the original', () => {
    const again: readonly StudyRecord[] = [
      ...records.slice(0, 4),
      { type: 'trial-started', at, trial: 1, role: 'search', candidate: toCandidate(originalConfig, { instances: 1 }) },
      { type: 'trial-measured', at, trial: 1, measurement: measured(8, 250, 7) },
      { type: 'trial-finished', at, trial: 1, chosen: 0, feasible: true, failure: null },
      ...records.slice(-2),
    ];
    const summary = summarize(foldStudy(again), 'j');
    expect(summary).toMatchObject({ verdict: 'nothing-better', best: { trial: 1 }, gain: { ratio: 1 } });
    const lines = closing(again);
    expect(lines[1]).toBe(
      'result     Your config is as good as anything tried: it gives 250 infer/s at p99 7 ms within p99 ≤ 8 ms.',
    );
    expect(lines.filter((line) => /^(best|changed) /.test(line))).toEqual([]);
    expect(lines.filter((line) => line.startsWith('original'))).toEqual([expect.stringContaining('250 infer/s')]);
  });

  it('give the median once where it is the budgeted percentile', () => {
    const summary = summarize(foldStudy(records), 'journal.jsonl');
    const best = { ...summary.best, budgetLatencyMs: { value: 7, low: 6, high: 8, percentile: 50 } };
    const lines = (of: typeof summary): string => closingLines(of, {}).join('\n');
    expect(lines(summary).match(/p50/g)).toHaveLength(2);
    expect(lines({ ...summary, best: best as NonNullable<typeof summary.best> })).toMatch(/6, p50 7 ms$/m);
  });

  it('break sentences between words at the edge of a terminal, and no path', () => {
    const [summary, path] = [summarize(foldStudy(records), 'journal.jsonl'), `${'d/'.repeat(50)}s.json`];
    const [lines, whole] = [40, undefined].map((columns) => closingLines(summary, { summary: path }, { columns })) as [
      string[],
      string[],
    ];
    expect(lines.length).toBeGreaterThan(whole.length);
    expect(lines).toContain(`summary    ${path}`);
    const said = lines.filter((line) => !line.includes(path)).slice(0, -1);
    for (const line of said) expect(line.length).toBeLessThanOrEqual(40);
    const words = (some: readonly string[]) => some.join(' ').split(/ +/);
    expect(words(lines)).toEqual(words(whole));
  });

  it('give the gain with its interval, and no interval from one round', () => {
    const decided = (low: number, high: number): StudyRecord[] => [
      ...records.slice(0, -2),
      { type: 'gain-decided', at, best: 1, gain: { value: 2.4, low, high } },
      ...records.slice(-2),
    ];
    expect(closing(decided(2.2, 2.6))).toContain(
      'result     2.40 times the throughput of your config within p99 ≤ 8 ms (95 % interval: 2.20 to 2.60).',
    );
    expect(closing(decided(0, Number.POSITIVE_INFINITY)).join()).toContain(
      'by a single comparison, so without an interval',
    );
  });

  it('name what the gain is in where that is not throughput alone', () => {
    const aimed = (objectives: readonly Objective[]): StudyRecord[] => [
      studyStarted({ ...goalOf(8), objectives }, { server: emulated }),
      ...records.slice(1, -2),
      { type: 'gain-decided', at, best: 1, gain: { value: 2.4, low: 2.2, high: 2.6 } },
      ...records.slice(-2),
    ];
    const [throughput, latency] = [
      { metric: 'throughput', weight: 10 },
      { metric: 'latency-p99', weight: 5 },
    ] as const;
    expect(closing(aimed([throughput])).join()).toContain('2.40 times the throughput of your config');
    expect(closing(aimed([latency])).join()).toContain('2.40 times lower p99 latency than your config');
    expect(closing(aimed([throughput, latency])).join()).toContain(
      '2.40 times as good as your config by throughput:10 and latency-p99:5',
    );
  });

  it('say that the model was not put back', () => {
    expect(closing(records.slice(0, -2)).at(-1)).toMatch(/NOT put back: tritune restore \.$/);
  });
});
