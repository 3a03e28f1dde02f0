import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../src/base/random.ts';
import { reportOf } from '../../src/profiler/report-of.ts';
import { decideGate, type GateRule } from '../../src/report/gate/decide.ts';
import { gateAnnotations, gateJson, gateJUnit, gateMarkdown } from '../../src/report/gate/documents.ts';
import { type GateDocument, readGateDocument } from '../../src/report/gate/readings.ts';
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

const verdicts = (run: GateDocument) => decideGate(document(), run, rule).comparisons.map(({ verdict }) => verdict);

describe('the gate', () => {
  it('tells changes for the worse from chance, and those that are borne', () => {
    expect(verdicts(document())).toEqual(['same', 'same']);
    expect(verdicts(document({}, 980, 8.2))).toEqual(['same', 'same']);
    expect(verdicts(document({}, 900, 10))).toEqual(['regression', 'regression']);
    expect(verdicts(document({}, 1100, 6.5))).toEqual(['better', 'better']);
    expect(verdicts(document({}, 950))).toEqual(['worse', 'same']);
    expect(verdicts(document({}, 0))).toEqual(['regression', 'same']);
    expect(decideGate(document(), document({}, 950), rule).isRegression).toBe(false);
    expect(decideGate(document(), document({}, 900), rule).isRegression).toBe(true);
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
    const blind = decideGate(widened(1.5), widened(1.5), rule);
    expect(blind.comparisons.map(({ verdict }) => verdict)).toEqual(['unsure', 'unsure']);
    expect(blind.isRegression).toBe(false);
    expect(gateMarkdown(blind)).toMatch(/^### ⚠️ tritune: no regression in 2 figures, 2 of them too unsure to tell/);
    expect(gateAnnotations(blind)).toEqual([expect.stringMatching(/^::warning/), expect.stringMatching(/^::warning/)]);
    // What cannot be a ratio says nothing either; what is surely worse is so, however wide it is.
    expect(decideGate(document({}, 0), document(), rule).comparisons[0]?.verdict).toBe('unsure');
    expect(decideGate(widened(1.5), document({}, 100), rule).comparisons[0]?.verdict).toBe('regression');
    const [one] = document().readings;
    const single = document(one ? { readings: [one] } : {});
    expect(gateMarkdown(decideGate(single, single, rule))).toContain('no regression in 1 figure (');
  });

  it('misses what the run does not have', () => {
    const { isRegression, comparisons } = decideGate(document(), document({ readings: [] }), rule);
    expect(isRegression).toBe(true);
    expect(comparisons.map(({ verdict }) => verdict)).toEqual(['missing', 'missing']);
  });

  it.each([
    [{ kind: 'tune' as const }, /tune run is compared with a profile run/],
    [{ model: 'other' }, /'other' is compared with 'm'/],
    [{ isEmulated: true }, /figures of an emulator/],
    [{ flaw: 'no configuration met the constraints' }, /no configuration met/],
  ])('fails for %j', (change, words) => {
    const { isRegression, faults } = decideGate(document(), document(change), rule);
    expect(isRegression).toBe(true);
    expect(faults.join()).toMatch(words);
  });

  it('is the stricter with each figure the more it has to look at', () => {
    const many = { readings: Array.from({ length: 30 }, () => document().readings).flat() };
    const worse = document({}, 950);
    expect(decideGate(document(), worse, rule).comparisons[0]?.verdict).toBe('worse');
    expect(decideGate(document(many), worse, rule).comparisons[0]?.verdict).toBe('same');
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
      if (decideGate(baseline, await profiled(3 * round + 1, 1), rule).isRegression) outcomes.same++;
      if (decideGate(baseline, await profiled(3 * round + 2, 1 / 0.9), rule).isRegression) outcomes.slower++;
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
    ['nonsense', /no JSON/],
    ['[]', /not as expected/],
    ['{"schemaVersion": 2}', /schemaVersion/],
    ['{"schemaVersion": 1, "models": []}', /of several models/],
    [JSON.stringify({ ...summary, best: { ...best, throughput: { value: 1 } } }), /best\.throughput\.low/],
    ['{"schemaVersion": 1, "model": "m", "server": {"emulated": null}, "levels": [{}]}', /levels\.0\.level/],
  ])('is refused when it is wrong: %s', (text, words) => {
    expect(() => readGateDocument(text, 'f.json')).toThrow(words);
  });
});

describe('what the gate writes', () => {
  const nasty = 'a|b <c> & "d"\n\u0001';
  const run = document({ model: nasty }, 900);
  const decision = decideGate(document(), run, rule);

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
    expect(gateAnnotations(decideGate(document(), document({}, 950), rule))[0]).toMatch(/^::warning/);
  });
});
