import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { reportOf } from '../../src/profiler/report-of.ts';
import { decideGate, type GateDecision, type GateRule } from '../../src/report/gate/decide.ts';
import { gateAnnotations, gateJson, gateJUnit, gateMarkdown } from '../../src/report/gate/documents.ts';
import { type GateDocument, readGateDocument } from '../../src/report/gate/readings.ts';
import { type GateVerdict, verdictOf } from '../../src/report/gate/verdict.ts';
import { profileJson } from '../../src/report/profile-json.ts';
import { measure } from '../profiler/simulate.ts';

const rule: GateRule = { tolerance: 0.02, confidence: 0.99 };

const document = (change: Partial<GateDocument> = {}, throughput = 1000, latencyMs = 8): GateDocument => ({
  kind: 'profile',
  model: 'm',
  isEmulated: false,
  flaw: null,
  readings: [
    {
      subject: 'concurrency 8',
      metric: 'throughput',
      unit: 'infer/s',
      better: 'higher',
      interval: { value: throughput, low: throughput * 0.98, high: throughput * 1.02 },
    },
    {
      subject: 'concurrency 8',
      metric: 'p99 latency',
      unit: 'ms',
      better: 'lower',
      interval: { value: latencyMs, low: latencyMs * 0.95, high: latencyMs * 1.05 },
    },
  ],
  ...change,
});

const decide = (baseline: GateDocument, run: GateDocument): GateDecision => decideGate([baseline], [run], rule);

const verdicts = (run: GateDocument) => decide(document(), run).comparisons.map(({ verdict }) => verdict);

describe('the verdict on one figure', () => {
  it.each<[verdict: GateVerdict, better: 'higher' | 'lower', low: number, high: number, tolerance?: number]>([
    // The p99 of one level, 30 % more: neither no change nor four fifths more is ruled out.
    ['unsure', 'lower', 0.935, 1.81],
    ['unsure', 'lower', 0.935, 1.21],
    ['same', 'lower', 0.935, 1.2],
    // How far it may be better does not count.
    ['same', 'lower', 0.5, 1.1],
    ['unsure', 'higher', 0.79, 1.05],
    ['same', 'higher', 0.8, 1.05],
    ['same', 'higher', 0.9, 3],
    // A larger tolerance allows as much.
    ['same', 'lower', 0.9, 1.5, 0.5],
    ['unsure', 'lower', 0.9, 1.51, 0.5],
    ['unsure', 'higher', 0, Number.POSITIVE_INFINITY],
    ['worse', 'lower', 1.01, 1.9],
    ['regression', 'lower', 1.03, 1.9],
    ['worse', 'higher', 0.5, 0.99],
    ['regression', 'higher', 0.5, 0.97],
    ['better', 'higher', 1.01, 9],
    ['better', 'lower', 0.1, 0.99],
  ])('is %s where %s is better and the change is %s to %s', (verdict, better, low, high, tolerance = 0.02) => {
    const change = { ratio: Math.sqrt(low * high), low, high, sureness: 0.9 };
    expect(verdictOf({ better }, change, tolerance)).toBe(verdict);
  });
});

describe('the gate', () => {
  it('tells changes for the worse from chance, and those that are borne', () => {
    expect(verdicts(document())).toEqual(['same', 'same']);
    expect(verdicts(document({}, 980, 8.2))).toEqual(['same', 'same']);
    expect(verdicts(document({}, 900, 10))).toEqual(['regression', 'regression']);
    expect(verdicts(document({}, 1100, 6.5))).toEqual(['better', 'better']);
    expect(verdicts(document({}, 950))).toEqual(['worse', 'same']);
    expect(verdicts(document({}, 0))).toEqual(['regression', 'same']);
    expect(decide(document(), document({}, 950)).isRegression).toBe(false);
    expect(decide(document(), document({}, 900)).isRegression).toBe(true);
  });

  it('says of readings that hardly say anything that they do not, and passes them with a warning', () => {
    const widened = (by: number): GateDocument => ({
      ...document(),
      readings: document().readings.map((reading) => {
        const { value } = reading.interval;
        return { ...reading, interval: { value, low: value / by, high: value * by } };
      }),
    });
    expect(verdicts(widened(1.1))).toEqual(['same', 'same']);
    const blind = decide(widened(1.5), widened(1.5));
    expect(blind.comparisons.map(({ verdict }) => verdict)).toEqual(['unsure', 'unsure']);
    expect(blind.isRegression).toBe(false);
    expect(gateMarkdown(blind)).toMatch(/^### ⚠️ tritune: no regression in 2 figures, all of them too unsure to tell/);
    expect(gateAnnotations(blind)).toEqual([expect.stringMatching(/^::warning/), expect.stringMatching(/^::warning/)]);
    // What cannot be a ratio says nothing either; what is surely worse is so, however wide it is.
    expect(decide(document({}, 0), document()).comparisons[0]?.verdict).toBe('unsure');
    expect(decide(widened(1.5), document({}, 100)).comparisons[0]?.verdict).toBe('regression');
    const [one] = document().readings;
    const single = document(one ? { readings: [one] } : {});
    expect(gateMarkdown(decide(single, single))).toContain('no regression in 1 figure (');
  });

  it('misses what the run does not have', () => {
    const { isRegression, comparisons } = decide(document(), document({ readings: [] }));
    expect(isRegression).toBe(true);
    expect(comparisons.map(({ verdict }) => verdict)).toEqual(['missing', 'missing']);
  });

  it.each([
    [{ model: 'other' }, /'other' is compared with 'm' \(--allow-other-model/],
    [{ isEmulated: true }, /figures of an emulator/],
    [{ flaw: 'no configuration met the constraints' }, /no configuration met/],
  ])('fails for %j', (change, words) => {
    const { isRegression, faults } = decide(document(), document(change));
    expect(isRegression).toBe(true);
    expect(faults.join()).toMatch(words);
  });

  it('compares with another model where that is asked for, and says so', () => {
    const gate = (models: readonly string[], runModels: readonly string[], latencyMs = 8) =>
      decideGate(
        models.map((model) => document({ model })),
        runModels.map((model) => document({ model }, 1000, latencyMs)),
        { ...rule, allowsOtherModel: true },
      );
    const decision = gate(['net_onnx'], ['net_trt']);
    expect(decision).toMatchObject({
      isRegression: false,
      faults: [],
      notes: ["'net_trt' is compared with 'net_onnx'"],
    });
    expect(gateMarkdown(decision)).toContain("- 'net\\_trt' is compared with 'net\\_onnx'\n");
    expect(gateAnnotations(decision)).toContain("::notice title=tritune::'net_trt' is compared with 'net_onnx'");
    expect(gate(['net_onnx'], ['net_trt'], 12)).toMatchObject({ isRegression: true, faults: [] });
    expect(gate(['m'], ['m'])).toMatchObject({ faults: [], notes: [] });
    // Repeated measurements are of one model all the same.
    expect(gate(['a', 'b'], ['c', 'd'])).toMatchObject({
      isRegression: true,
      faults: ["'b' is taken for a repeated measurement of 'a'", "'d' is taken for a repeated measurement of 'c'"],
      notes: ["'c' is compared with 'a'"],
    });
  });

  it('is the stricter with each figure the more it has to look at', () => {
    const [first, second] = levels(Array(30).fill(1)).readings;
    const few = (document: GateDocument) => ({ ...document, readings: document.readings.slice(0, 2) });
    expect([first?.metric, second?.metric]).toEqual(['throughput', 'p99 latency']);
    const worse = levels([0.95, ...Array(29).fill(1)]);
    expect(verdictOn('concurrency 8', decide(few(levels([1])), few(worse)))).toBe('worse');
    expect(verdictOn('concurrency 8', decide(levels(Array(30).fill(1)), worse))).toBe('same');
  });
});

/** Levels 8, 16, …, each so many times as fast; intervals of ±2 % and ±5 %. */
const levels = (factors: readonly number[]): GateDocument =>
  document({
    readings: factors.flatMap((factor, index) =>
      document({}, 1000 * factor, (8 * (index + 1)) / factor).readings.map((reading) => ({
        ...reading,
        subject: `concurrency ${8 * (index + 1)}`,
      })),
    ),
  });

const verdictOn = (subject: string, { comparisons }: GateDecision, metric = 'throughput') =>
  comparisons.find(({ before }) => before.subject === subject && before.metric === metric)?.verdict;

describe('the gate, of several levels', () => {
  const same = levels([1, 1, 1, 1, 1, 1]);

  it('judges them together: what is a little slower everywhere is found', () => {
    const decision = decide(same, levels([0.93, 0.94, 0.92, 0.93, 0.94, 0.93]));
    expect(verdictOn('all 6 levels together', decision)).toBe('regression');
    expect(gateMarkdown(decision)).toContain(
      '| all 6 levels together, throughput | 1,000 infer/s | 932 infer/s | -6.8 %',
    );
  });

  it('finds one level that is much slower than the others', () => {
    const decision = decide(same, levels([1, 0.99, 1.01, 0.75, 1, 1]));
    expect(verdictOn('concurrency 32', decision)).toBe('regression');
    // The levels disagree too much to rule out a large drop of all.
    expect(verdictOn('all 6 levels together', decision)).toBe('unsure');
  });

  it('takes levels that disagree for a machine with slow minutes, and says what it could have seen', () => {
    const slowMinutes = decide(same, levels([1.02, 1, 0.9, 0.88, 0.9, 0.91]));
    expect(slowMinutes.isRegression).toBe(false);
    const seen = (decision: GateDecision): number =>
      Number(gateMarkdown(decision).match(/; (\d+) % less throughput at all levels would have been seen/)?.[1]);
    expect(seen(slowMinutes)).toBeGreaterThan(10);
    expect(seen(decide(same, same))).toBeLessThan(8);
  });

  it('is sure of each level where a new config gains far more than a machine drifts, however differently', () => {
    const decision = decide(same, levels([3.5, 5, 7, 9, 12, 14]));
    for (const { before, verdict } of decision.comparisons)
      if (before.metric === 'throughput') expect(verdict, before.subject).toBe('better');
    const text = gateMarkdown(decision);
    expect(text).toMatch(
      /\| concurrency 48, throughput \| 1,000 infer\/s \| 14,000 infer\/s \| 14\.00× \(6\.\d\d× to 2\d\.\d\d×; over/,
    );
    // Of latencies no such bound is known: what says nothing is not printed, and all levels together are named.
    expect(text).toMatch(
      /p99 latency .*the readings set no usable bounds\) \| too unsure at this level alone, see all levels/,
    );
    expect(text).not.toMatch(/[+-]\d{4,}\.\d %/);
  });

  it('learns from repeated measurements how much they differ', () => {
    const at = (by: number): GateDocument => levels(same.readings.slice(0, 6).map(() => by));
    expect(decide(at(1), at(0.92)).isRegression).toBe(true);
    expect(decideGate([at(1), at(0.93), at(0.98)], [at(0.92), at(1), at(0.93)], rule).isRegression).toBe(false);
    expect(decideGate([at(1), at(0.99), at(1.01)], [at(0.91), at(0.9), at(0.92)], rule).isRegression).toBe(true);
    const lacking = decideGate([same, same], [same, levels([1, 1, 1, 1, 1])], rule);
    expect(verdictOn('concurrency 48', lacking)).toBe('missing');
    expect(decideGate([same, levels([1])], [same], rule).isRegression).toBe(true);
    expect(decideGate([same, document({ model: 'other' })], [same], rule).faults.join()).toMatch(/'other'/);
  });

  it('does not fail on what differs from one measurement to the next, and finds 10 % beyond that', () => {
    const random = seededRandom(11);
    const normal = (): number => Math.sqrt(-2 * Math.log(1 - random.float())) * Math.cos(2 * Math.PI * random.float());
    // Each measurement is off by so much beyond what its interval says.
    const off = (by: number, factor = 1) =>
      levels(Array.from({ length: 8 }, () => factor * Math.exp((0.007 + by) * normal())));
    const outcomes = { same: 0, slower: 0 };
    for (let round = 0; round < 100; round++) {
      if (decide(off(0.04), off(0.04)).isRegression) outcomes.same++;
      if (decide(off(0.01), off(0.01, 0.9)).isRegression) outcomes.slower++;
    }
    // With a chance of 1 % more than 4 of 100 are an accident in 300.
    expect(outcomes.same).toBeLessThanOrEqual(4);
    expect(outcomes.slower).toBe(100);
  });
});

describe('measured in turn', () => {
  const head = {
    schemaVersion: 1,
    trituneVersion: '0',
    model: 'm',
    modelVersion: '',
    server: { name: 's', version: '1', url: '', emulated: null },
    protocol: 'grpc',
    batch: 1,
    mode: 'concurrency',
    stability: 'interval',
    commandLine: [],
  } as const;

  /** What `profile --json` writes of a server whose executions take so many times as long. */
  async function profiled(seed: number, factor: number): Promise<GateDocument> {
    const random = seededRandom(seed);
    const jitter = (): number => 0.8 + 0.4 * random.float();
    const executionNs = (batch: number): number => factor * (2e6 + 0.3e6 * batch) * jitter();
    const measurement = await measure({ instances: 2, maxBatch: 8, executionNs }, 16);
    const asked = { percentiles: [50, 90, 95, 99], percentile: null, latencyLimitMs: 0, isDecoupled: false };
    return readGateDocument(JSON.stringify(profileJson(head, [reportOf(measurement, asked)])), 'r.json');
  }

  it('passes the same server 20 times, and finds one 10 % slower 20 times', async () => {
    const outcomes = { same: 0, slower: 0 };
    for (let round = 0; round < 20; round++) {
      const baseline = await profiled(3 * round, 1);
      if (decide(baseline, await profiled(3 * round + 1, 1)).isRegression) outcomes.same++;
      if (decide(baseline, await profiled(3 * round + 2, 1 / 0.9)).isRegression) outcomes.slower++;
    }
    expect(outcomes).toEqual({ same: 0, slower: 20 });
  });
});

describe('what the gate reads', () => {
  const interval = { value: 100, low: 98, high: 102 };
  const best = {
    load: { mode: 'concurrency', value: 32 },
    throughput: interval,
    budgetLatencyMs: { percentile: 99, value: 7, low: 6.8, high: 7.3 },
  };
  const summary = { schemaVersion: 1, model: 'm', emulated: null, budget: null, feasible: true, best };

  it('is the best of a run: throughput, and latency where no budget was to be used up', () => {
    const metrics = (change: object) =>
      readGateDocument(JSON.stringify({ ...summary, ...change }), 'summary.json').readings.map(({ metric }) => metric);
    expect(metrics({})).toEqual(['throughput', 'p99 latency']);
    expect(metrics({ budget: { percentile: 99, latencyMs: 8 } })).toEqual(['throughput']);
    expect(metrics({ best: null })).toEqual([]);
    expect(readGateDocument(JSON.stringify({ ...summary, feasible: false }), 's').flaw).toMatch(/no configuration met/);
  });

  it.each([
    ['nonsense', /not JSON/],
    ['[]', /not as expected/],
    ['{"schemaVersion": 2}', /schemaVersion/],
    ['{"schemaVersion": 1, "models": []}', /several models/],
    [JSON.stringify({ ...summary, best: { ...best, throughput: { value: 1 } } }), /best\.throughput\.low/],
    ['{"schemaVersion": 1, "model": "m", "server": {"emulated": null}, "levels": [{}]}', /levels\.0\.level/],
  ])('is refused when it is wrong: %s', (text, words) => {
    expect(() => readGateDocument(text, 'f.json')).toThrow(words);
  });
});

describe('what the gate writes', () => {
  const nasty = 'a|b <c> & "d"\n\u0001';
  const run = document({ model: nasty }, 900);
  const decision = decide(document(), run);

  it('is JSON with everything', () => {
    expect(JSON.parse(gateJson(decision))).toMatchObject({
      isRegression: true,
      comparisons: [{ verdict: 'regression' }, {}],
    });
  });

  it('is a table in Markdown that nothing in it can break', () => {
    const lines = gateMarkdown(decision).split('\n');
    expect(lines[0]).toMatch(/^### ❌ tritune: regression: 2 of 3 checks failed/);
    expect(lines).toContain('| figure | baseline | run | change | verdict |');
    expect(lines.find((line) => line.includes('throughput'))).toMatch(
      /^\| concurrency 8, throughput \| 1,000 infer\/s \| 900 infer\/s \| -10\.0 % \(.*\) \| REGRESSION \|$/,
    );
    expect(lines.find((line) => line.startsWith('- '))).toContain('a\\|b');
  });

  it('is JUnit XML with a case for each figure and fault', () => {
    const xml = gateJUnit(decision);
    expect(xml).toContain('tests="3" failures="2"');
    expect(xml).toContain('a|b &lt;c&gt; &amp; &quot;d&quot;');
    expect(xml).not.toContain('\u0001');
  });

  it('is an annotation for each regression, on one line', () => {
    const lines = gateAnnotations(decision);
    expect(lines).toHaveLength(2);
    for (const line of lines) expect(line).toMatch(/^::error title=tritune::[^\n]+$/);
    expect(gateAnnotations(decide(document(), document({}, 950)))[0]).toMatch(/^::warning/);
  });
});
