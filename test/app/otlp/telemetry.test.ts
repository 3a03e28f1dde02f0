import { describe, expect, it } from 'vitest';
import { listCapacityFigures } from '#app/otlp-figures.ts';
import { openTelemetry } from '#app/telemetry.ts';
import { aCapacity } from '../../capacity/documents.ts';
import { callCli } from '../../support/call-cli.ts';
import { emulatorForTest, smallProfile } from '../../support/emulator.ts';
import { startCollector } from '../../support/otlp-collector.ts';
import { freshDirectory } from '../../support/run-directory.ts';

describe('--otlp', () => {
  it('sends a study as a span with its trials, and the figures of its end', { timeout: 120_000 }, async () => {
    const collector = await startCollector();
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const directory = await freshDirectory();
    const fixed = [
      'tune',
      '-m',
      'm',
      '-u',
      emulator.grpcUrl,
      '-i',
      'grpc',
      '--concurrency',
      '1:4',
      '--max-trials',
      '1',
    ];
    const { code } = await callCli([
      ...fixed,
      '--precision',
      '20',
      '--ui',
      'none',
      '-o',
      directory,
      '--otlp',
      collector.url,
    ]);
    expect(code).toBe(0);
    const spans = collector.spans();
    const study = spans.find(({ name }) => name === 'study');
    const trials = spans.filter(({ name }) => /^trial \d+$/.test(name));
    expect(trials.length).toBeGreaterThanOrEqual(2);
    expect(new Set(trials.map(({ parentSpanId }) => parentSpanId))).toEqual(new Set([study?.spanId]));
    for (const { startTimeUnixNano, endTimeUnixNano, events = [], attributes } of trials) {
      expect(BigInt(endTimeUnixNano)).toBeGreaterThan(BigInt(startTimeUnixNano));
      expect(events.map(({ name }) => name)).toContain('measured');
      expect(attributes.map(({ key }) => key)).toEqual(expect.arrayContaining(['tritune.trial', 'tritune.feasible']));
    }
    const metrics = collector.metrics();
    expect([...new Set(metrics.map(({ name }) => name))]).toEqual(
      expect.arrayContaining(['tritune.throughput', 'tritune.latency']),
    );
    const throughput = metrics.find(({ name }) => name === 'tritune.throughput');
    expect(throughput?.unit).toBe('{inference}/s');
    // The best and the original, each with both ends of its interval.
    expect(throughput?.gauge.dataPoints).toHaveLength(6);
    expect(collector.text()).toContain('"tritune.model"');
  });

  it('sends the figures of a profile', { timeout: 60_000 }, async () => {
    const collector = await startCollector();
    const emulator = await emulatorForTest({ profile: smallProfile() });
    const { code } = await callCli([
      'profile',
      '-m',
      'm',
      '-u',
      emulator.grpcUrl,
      '-i',
      'grpc',
      '-p',
      '300',
      '--otlp',
      collector.url,
    ]);
    expect(code).toBe(0);
    expect(
      collector
        .metrics()
        .map(({ name }) => name)
        .sort(),
    ).toEqual([...['tritune.error_rate', 'tritune.latency', 'tritune.throughput']]);
  });

  it.each([
    ['refuses', 400],
    ['is gone', null],
  ])('says when the collector %s, and the run is as good', { timeout: 60_000 }, async (_, status) => {
    const url = status === null ? 'http://127.0.0.1:1' : (await startCollector(status)).url;
    const telemetry = await openTelemetry(url, { command: 'capacity', model: 'm' });
    telemetry?.record(listCapacityFigures(aCapacity()));
    const fault = await telemetry?.close();
    expect(fault).toContain(`not everything reached ${url}`);
    expect(fault).toMatch(status === null ? /ECONNREFUSED/ : /400|Bad Request/);
    expect(fault).not.toContain('stack');
  });

  it('has the capacity with its interval', () => {
    expect(listCapacityFigures(aCapacity()).filter(({ name }) => name === 'tritune.capacity')).toEqual(
      [
        ['estimate', 1000],
        ['low', 980],
        ['high', 1020],
      ].map(([bound, value]) => ({
        name: 'tritune.capacity',
        unit: '{request}/s',
        value,
        attributes: { 'tritune.bound': bound },
      })),
    );
    expect(listCapacityFigures(aCapacity({ capacity: null, saturation: null }))).toEqual([]);
  });

  it('refuses what is no address', async () => {
    await expect(openTelemetry('localhost:4318', { command: 'tune', model: 'm' })).rejects.toThrow(
      'not an address of a collector',
    );
    expect(await openTelemetry(undefined, { command: 'tune', model: 'm' })).toBeNull();
  });
});
