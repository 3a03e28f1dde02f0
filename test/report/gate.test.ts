import { describe, expect, it } from 'vitest';
import { seededRandom } from '#base/random.ts';
import { toReport } from '#profiler/report-of.ts';
import { decideGate, type GateDecision, type GateRule } from '#report/gate/decide.ts';
import { gateAnnotations, gateJson, gateJUnit, gateMarkdown } from '#report/gate/documents.ts';
import { type GateDocument, type MetricReading, readGateDocument } from '#report/gate/readings.ts';
import { timesLine } from '#report/gate/times.ts';
import { type MetricVerdict, toVerdict } from '#report/gate/verdict.ts';
import { adviceLine, decisionLine } from '#report/gate/words.ts';
import { profileJson } from '#report/profile-json.ts';
import { measure } from '../profiler/simulate.ts';

const rule: GateRule = { tolerance: 0.02, confidence: 0.99, mustSee: 0.1 };

const document = (change: Partial<GateDocument> = {}, throughput = 1000, latencyMs = 8): GateDocument => ({
  kind: 'profile',
  model: 'm',
  isEmulated: false,
  flaw: null,
  assumptions: [],
  certificate: null,
  machine: null,
  times: [],
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

const pair = (both: GateDocument): [GateDocument, GateDocument] => [both, both];

const verdicts = (run: GateDocument) => decide(document(), run).comparisons.map(({ verdict }) => verdict);

describe('the verdict on one figure', () => {
  it.each<[verdict: MetricVerdict, better: 'higher' | 'lower', low: number, high: number, tolerance?: number]>([
    // The p99 of one level, 30 % more: neither no change nor four fifths more is ruled out.
    ['unsure', 'lower', 0.935, 1.81],
    ['unsure', 'lower', 0.935, 1.11],
    ['same', 'lower', 0.935, 1.09],
    // How far it may be better does not matter.
    ['same', 'lower', 0.5, 1.05],
    ['unsure', 'higher', 0.89, 1.05],
    ['same', 'higher', 0.9, 1.05],
    ['same', 'higher', 0.95, 3],
    // A larger tolerance allows as much.
    ['same', 'lower', 0.9, 1.5, 0.5],
    ['unsure', 'lower', 0.9, 1.51, 0.5],
    ['unsure', 'higher', 0, Number.POSITIVE_INFINITY],
    // Worse without a doubt, but by how much is open.
    ['unsure', 'lower', 1.01, 1.9],
    ['worse', 'lower', 1.01, 1.09],
    ['regression', 'lower', 1.03, 1.9],
    ['unsure', 'higher', 0.5, 0.99],
    ['worse', 'higher', 0.91, 0.99],
    ['regression', 'higher', 0.5, 0.97],
    ['better', 'higher', 1.01, 9],
    ['better', 'lower', 0.1, 0.99],
  ])('is %s where %s is better and the change is %s to %s', (verdict, better, low, high, tolerance = 0.02) => {
    const change = { ratio: Math.sqrt(low * high), low, high, sureness: 0.9 };
    expect(toVerdict({ better }, change, { tolerance, mustSee: 0.1 })).toBe(verdict);
  });
});

describe('the gate', () => {
  it('tells changes for the worse from chance, and those that are borne', () => {
    // A p99 of ±5 % on either side is known to 12 %.
    expect(verdicts(document())).toEqual(['same', 'unsure']);
    expect(verdicts(document({}, 980, 8.2))).toEqual(['same', 'unsure']);
    expect(verdicts(document({}, 900, 10))).toEqual(['regression', 'regression']);
    expect(verdicts(document({}, 1100, 6.5))).toEqual(['better', 'better']);
    expect(verdicts(document({}, 950))).toEqual(['worse', 'unsure']);
    expect(verdicts(document({}, 0))).toEqual(['regression', 'unsure']);
    expect(decide(document(), document({}, 950))).toMatchObject({ verdict: 'passed', isRegression: false });
    expect(decide(document(), document({}, 900))).toMatchObject({ verdict: 'regression', isRegression: true });
  });

  /** The document with intervals from this share below to as much above. */
  const widened = (by: number, [throughput, latencyMs] = [1000, 8]): GateDocument => ({
    ...document(),
    readings: document({}, throughput, latencyMs).readings.map((reading) => {
      const { value } = reading.interval;
      return { ...reading, interval: { value, low: value / by, high: value * by } };
    }),
  });

  it('is inconclusive where no metric is precise, and says how much longer to measure', () => {
    const blind = decide(widened(1.2), widened(1.2));
    expect(blind.comparisons.map(({ verdict }) => verdict)).toEqual(['unsure', 'unsure']);
    expect(blind).toMatchObject({ verdict: 'inconclusive', isRegression: false });
    expect(decisionLine(blind)).toBe(
      'inconclusive: none of 2 metrics is precise enough to rule out a regression of 10 % (99 % confidence, 2 % tolerance); it would have seen a regression of 33 % in throughput',
    );
    expect(adviceLine(blind)).toMatch(
      /^for a verdict on 10 %, measure about 13 times as long \(a smaller --precision\), or compare 13 times as many runs/,
    );
    const [markdown, xml, annotations] = [gateMarkdown(blind), gateJUnit(blind), gateAnnotations(blind)];
    expect(markdown).toMatch(/^### ❔ tritune: inconclusive: none of 2 metrics.*\n\n- for a verdict on 10 %/);
    expect(xml).toContain('tests="2" failures="0" skipped="2"');
    expect(xml.match(/<skipped message="[^"]*: inconclusive"\/>/g)).toHaveLength(2);
    expect(annotations).toEqual([expect.stringMatching(/^::warning title=tritune::inconclusive: none of 2 metrics/)]);
    expect(JSON.parse(gateJson(blind))).toMatchObject({
      verdict: 'inconclusive',
      isRegression: false,
      timesAsLong: expect.closeTo(13, 0),
      rule: { mustSee: 0.1 },
    });
    // No length decides what has no bounds.
    const stopped = document({ readings: document({}, 0).readings.slice(0, 1) });
    expect(decide(stopped, stopped).timesAsLong).toBeNull();
    expect(adviceLine(decide(widened(3), widened(3)))).toMatch(/measure on a quieter machine, at more levels/);
    const [one] = document().readings;
    const single = document(one ? { readings: [one] } : {});
    expect(decisionLine(decide(single, single))).toContain('passed: no regression in 1 metric (');
    expect(adviceLine(decide(single, single))).toBeNull();
  });

  it('is conclusive after the time that it asks for', () => {
    const [longer, by] = [decide(widened(1.2), widened(1.2)).timesAsLong ?? 0, Math.log(1.2)];
    const verdictAfter = (times: number) => decide(...pair(widened(Math.exp(by / Math.sqrt(times))))).verdict;
    expect(verdictAfter(longer * 0.98)).toBe('inconclusive');
    expect(verdictAfter(longer * 1.02)).toBe('passed');
  });

  it('rules out what it must see, and no more', () => {
    const at = (mustSee: number) => decideGate([widened(1.1)], [widened(1.1)], { ...rule, mustSee }).verdict;
    expect([at(0.1), at(0.3)]).toEqual(['inconclusive', 'passed']);
  });

  it('passes by one precise metric, unless another one looks much worse', () => {
    const mixed = (latencyMs: number): GateDocument => ({
      ...document(),
      readings: [document().readings[0], widened(1.3, [1000, latencyMs]).readings[1]] as MetricReading[],
    });
    const fine = decide(mixed(8), mixed(8));
    expect(fine.verdict).toBe('passed');
    expect(decisionLine(fine)).toMatch(
      /^passed: no regression in 1 of 2 metrics, 1 inconclusive \(.*6 % in throughput$/,
    );
    expect(gateMarkdown(fine)).toMatch(/^### ✅/);
    expect(gateJUnit(fine)).toContain('tests="2" failures="0" skipped="1"');
    expect(gateAnnotations(fine)).toEqual([
      expect.stringMatching(/^::warning.*not precise enough.*: concurrency 8, p99 latency$/),
    ]);
    // A fifth more is within the noise of such a metric, half as much again is hardly.
    expect(decide(mixed(8), mixed(9.6)).verdict).toBe('passed');
    const suspect = decide(mixed(8), mixed(12));
    expect(suspect.comparisons.map(({ verdict }) => verdict)).toEqual(['same', 'unsure']);
    expect(decisionLine(suspect)).toMatch(
      /^inconclusive: concurrency 8, p99 latency looks like a regression, but is not precise enough to tell/,
    );
  });

  it('does not pass by a rate that was sent, which no slower server changes', () => {
    const atRate = (followsLoad: boolean): GateDocument => ({
      ...document(),
      readings: widened(1.3).readings.map((reading, index) =>
        index === 0
          ? { ...reading, interval: { value: 100, low: 100, high: 100 }, ...(followsLoad ? { followsLoad } : {}) }
          : reading,
      ),
    });
    expect(decide(...pair(atRate(false))).verdict).toBe('passed');
    const sent = decide(...pair(atRate(true)));
    expect(sent.verdict).toBe('inconclusive');
    expect(decisionLine(sent)).toMatch(/^inconclusive: 1 of 2 metrics is not precise enough/);
  });

  it('finds what is certain, however wide its interval is', () => {
    expect(decide(document({}, 0), document()).comparisons[0]?.verdict).toBe('unsure');
    expect(decide(widened(1.5), document({}, 100)).comparisons[0]?.verdict).toBe('regression');
  });

  it('misses what the run does not have', () => {
    const { isRegression, comparisons } = decide(document(), document({ readings: [] }));
    expect(isRegression).toBe(true);
    expect(comparisons.map(({ verdict }) => verdict)).toEqual(['missing', 'missing']);
  });

  it.each([
    [{ model: 'other' }, /'other' is compared with 'm' \(--allow-other-model/],
    [{ isEmulated: true }, /metrics of an emulator/],
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
      faults: ["'b' cannot repeat a measurement of 'a'", "'d' cannot repeat a measurement of 'c'"],
      notes: ["'c' is compared with 'a'"],
    });
  });

  it('says where the time of each level went, the mean of several runs', () => {
    const timed = (queue: number, infer: number) =>
      document({
        times: [
          {
            subject: 'concurrency 8',
            figures: [],
            parts: [
              { name: 'queue', unit: 'ms', value: queue },
              { name: 'compute infer', unit: 'ms', value: infer },
              { name: 'compute output', unit: 'ms', value: 0 },
            ],
          },
        ],
      });
    const { times } = decideGate([timed(4, 10)], [timed(1, 5), timed(3, 5)], rule);
    expect(times.map(timesLine)).toEqual([
      'time at concurrency 8: queue 4 → 2 ms (-50 %), compute infer 10 → 5 ms (-50 %)',
    ]);
    expect(decideGate([timed(4, 10)], [document()], rule).times).toEqual([]);
    const repeated = decideGate([timed(4, 10), timed(4.4, 10)], [timed(1, 5), timed(1.1, 5)], rule).times;
    expect(repeated.map(timesLine)).toEqual([
      'time at concurrency 8: queue 4.2 → 1.05 ms (-75 %, 95 %: -81 to -67 %), compute infer 10 → 5 ms (-50 %, 95 %: -50 to -50 %)',
    ]);
  });

  it('says that the machines differ, where both are known', () => {
    const notes = (before: string | null, after: string | null) =>
      decideGate([document({ machine: before })], [document({ machine: after })], rule).notes;
    expect(notes('Xeon (16 cores)', 'EPYC (64 cores)')).toEqual([
      'measured on other machines: the baseline on Xeon (16 cores); the run on EPYC (64 cores)',
    ]);
    expect(notes('Xeon (16 cores)', 'Xeon (16 cores)')).toEqual([]);
    expect(notes(null, 'EPYC (64 cores)')).toEqual([]);
  });

  it('says on what made-up requests either side rests', () => {
    const [shape, other] = ["input 'images': shape [3, 1, 1]", "input 'ids': values 1"];
    const decision = decide(document({ assumptions: [shape] }), document({ assumptions: [shape, other] }));
    expect(decision).toMatchObject({
      isRegression: false,
      notes: [`assumed on both sides: ${shape}`, `assumed in the run only: ${other}`],
    });
    expect(decide(document({ assumptions: [other] }), document()).notes).toEqual([
      `assumed in the baseline only: ${other}`,
    ]);
  });

  it('is the stricter with each figure the more it has to look at', () => {
    const [first, second] = levels(Array(30).fill(1)).readings;
    const few = (document: GateDocument) => ({ ...document, readings: document.readings.slice(0, 2) });
    expect([first?.metric, second?.metric]).toEqual(['throughput', 'p99 latency']);
    const worse = levels([0.95, ...Array(29).fill(1)]);
    expect(verdictOn('concurrency 8', decide(few(levels([1])), few(worse)))).toBe('worse');
    expect(verdictOn('concurrency 8', decide(levels(Array(30).fill(1)), worse))).toBe('unsure');
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
    expect(verdictOn('all 6 levels together (geometric mean)', decision)).toBe('regression');
    expect(gateMarkdown(decision)).toContain(
      '| all 6 levels together (geometric mean), throughput | 1,000 infer/s | 932 infer/s | -6.8 %',
    );
  });

  it('finds one level that is much slower than the others', () => {
    const decision = decide(same, levels([1, 0.99, 1.01, 0.75, 1, 1]));
    expect(verdictOn('concurrency 32', decision)).toBe('regression');
    // The levels disagree too much to rule out a large drop of all.
    expect(verdictOn('all 6 levels together (geometric mean)', decision)).toBe('unsure');
  });

  it('takes levels that disagree for a machine with slow minutes, and says what it could have seen', () => {
    const slowMinutes = decide(same, levels([1.02, 1, 0.9, 0.88, 0.9, 0.91]));
    expect(slowMinutes.verdict).toBe('inconclusive');
    // A single level that looks worse is no reason by itself.
    expect(decisionLine(slowMinutes)).toMatch(/^inconclusive: (?:none of|\d+ of|all 6 levels)/);
    const seen = (decision: GateDecision): number =>
      Number(gateMarkdown(decision).match(/; it would have seen a regression of (\d+) % in throughput/)?.[1]);
    expect(seen(slowMinutes)).toBeGreaterThan(10);
    expect(seen(decide(same, same))).toBeLessThan(8);
  });

  it('is sure of each level where a new config gains far more than a machine drifts, however differently', () => {
    const decision = decide(same, levels([3.5, 5, 7, 9, 12, 14]));
    for (const { before, verdict } of decision.comparisons)
      if (before.metric === 'throughput') expect(verdict, before.subject).toBe('better');
    const text = gateMarkdown(decision);
    expect(text).toMatch(
      /\| concurrency 48, throughput \| 1,000 infer\/s \| 14,000 infer\/s \| 14\.00× \(6\.\d\d× to 2\d\.\d\d×; over 99\.9 % likely higher\)/,
    );
    // Of latencies no such bound is known: what says nothing is not printed, and all levels
    // together are named.
    expect(text).toMatch(
      /p99 latency .*the measurements set no usable bounds\) \| inconclusive at this level alone, see all levels/,
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
    return readGateDocument(JSON.stringify(profileJson(head, [toReport(measurement, asked)])), 'r.json');
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
  it('says that requests failed, and how many are allowed, unless they failed in the baseline too', () => {
    const level = {
      level: { mode: 'concurrency', value: 8 },
      stable: true,
      client: { bound: false },
      throughput: { value: 1000, low: 990, high: 1010 },
      budgetLatencyMs: { percentile: 99, value: 8, low: 7.9, high: 8.1 },
    };
    const refused = { failures: [{ kind: 'status', count: 25, firstMessage: 'Exceeds maximum queue size' }] };
    const profile = (...levels: object[]): GateDocument =>
      readGateDocument(
        JSON.stringify({ schemaVersion: 1, model: 'm', server: { emulated: null }, levels }),
        'profile.json',
      );
    const sound = profile({ ...level, errorRate: 0 });
    const failing = profile({ ...level, errorRate: 0.025, ...refused });
    const reason = 'concurrency 8: 2.5 % of requests failed (`Exceeds maximum queue size`), 1 % are allowed';
    expect(decide(sound, failing)).toMatchObject({ isRegression: true, faults: [reason] });
    expect(decide(failing, failing)).toMatchObject({ isRegression: false, faults: [] });
    expect(decide(sound, profile({ ...level, errorRate: 0.01 })).faults).toEqual([]);

    // A level at which nothing was served has no figures, and no latency of 0 that would be better.
    const nothing = { value: 0, low: 0, high: 0 };
    const dead = { ...level, errorRate: 1, throughput: nothing, budgetLatencyMs: { percentile: 99, ...nothing } };
    const { comparisons, faults } = decide(sound, profile({ ...dead, ...refused }));
    expect(comparisons.map(({ verdict }) => verdict)).toEqual(['missing', 'missing']);
    expect(faults).toEqual([expect.stringContaining('all requests failed (`Exceeds maximum queue size`)')]);
  });

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

  it('has where the time of the best went, and what is left to gain', () => {
    const time = (queueMs: number) => {
      return { totalMs: 10 + queueMs, parts: { queueMs, computeMs: 8, outsideMs: 2 }, execution: null };
    };
    const certificate = { confidence: 0.95, gain: 0.04, reason: null, configs: 80 };
    const read = (change: object) => readGateDocument(JSON.stringify({ ...summary, ...change }), 'summary.json');
    const before = read({ explanation: { after: time(5) } });
    const after = read({ explanation: { after: time(1) }, certificate });
    const { notes, times } = decide(before, after);
    expect(times.map(timesLine)).toEqual([
      "time at the best's level: mean latency 15 → 11 ms (-27 %), queue 5 → 1 ms (-80 %), compute 8 → 8 ms (+0 %), network and client 2 → 2 ms (+0 %)",
    ]);
    expect(notes).toEqual([
      'certificate of the run: none of the 80 configs of the space is more than 4 % better (95 % sure)',
    ]);
    // Neither is known of a run without statistics, or of an earlier version.
    expect(decide(read({ explanation: null }), read({ certificate: { ...certificate, gain: null } }))).toMatchObject({
      notes: [],
      times: [],
    });
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
    expect(lines).toContain('| metric | baseline | run | change | verdict |');
    expect(lines.find((line) => line.includes('throughput'))).toMatch(
      /^\| concurrency 8, throughput \| 1,000 infer\/s \| 900 infer\/s \| -10\.0 % \(.*\) \| REGRESSION \|$/,
    );
    expect(lines.find((line) => line.startsWith('- '))).toContain('a\\|b');
  });

  it('is JUnit XML with a case for each figure and fault', () => {
    const xml = gateJUnit(decision);
    expect(xml).toContain('tests="3" failures="2" skipped="1"');
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
