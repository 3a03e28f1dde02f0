import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvRows } from '#base/csv.ts';
import { readIntervals, readTimestamps } from '#loadgen/arrival-files.ts';
import { deviceMetrics, meanDeviceMetrics } from '#profiler/devices/device-probe.ts';
import { parsePrometheus } from '#profiler/devices/prometheus.ts';
import { affineLaw } from '#queueing/service-law.ts';
import { simulate } from '#queueing/simulate.ts';
import { csvText } from '#report/csv.ts';
import { FUZZ_TIMEOUT_MS, fuzz, refusedOrAsync } from '../support/fuzz.ts';

describe('a metrics page that is bad', () => {
  const look = (text: string): void => {
    const metrics = deviceMetrics(parsePrometheus(text));
    meanDeviceMetrics([metrics, metrics]);
  };

  it('has its samples read as they were written', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const name = fc.stringMatching(/^[a-zA-Z_:][a-zA-Z0-9_:]{0,8}$/);
    const label = fc.stringMatching(/^[a-zA-Z_][a-zA-Z0-9_]{0,8}$/);
    // Line separators of Unicode are no line breaks to Prometheus; none of its exporters writes
    // them.
    const value = fc.string({ unit: 'grapheme', maxLength: 6 }).filter((text) => !/[\r\u2028\u2029]/.test(text));
    const number = fc.double({ noNaN: true });
    const sample = fc.record({ name, labels: fc.dictionary(label, value, { maxKeys: 3 }), value: number });
    const escaped = (text: string): string => text.replace(/[\\"]/g, '\\$&').replaceAll('\n', '\\n');
    fuzz(fc.array(sample, { maxLength: 3 }), (samples) => {
      const text = samples.map((each) => {
        const labels = Object.entries(each.labels).map(([key, text]) => `${key}="${escaped(text)}"`);
        const shown = `${each.value}`.replace('Infinity', 'Inf');
        return `${each.name}${labels.length > 0 ? `{${labels.join(',')}}` : ''} ${shown}`;
      });
      const read = parsePrometheus(text.join('\n'));
      expect(read.map((each) => ({ ...each, labels: { ...each.labels } }))).toEqual(
        samples.map((each) => ({ ...each, labels: { ...each.labels }, value: each.value + 0 })),
      );
    });
  });

  it.each([
    ['blanks', `a${' '.repeat(500_000)}x y z`],
    ['blanks behind its value', `a 1${' '.repeat(500_000)}x`],
    ['closing braces', `a{${'} '.repeat(300_000)}x y`],
    ['opening braces', `${'a{'.repeat(300_000)} 1`],
    ['labels', `a{${'b="c",'.repeat(300_000)} 1`],
    ['a label without an end', `a{b="${'\\"'.repeat(2_000_000)}} 1`],
    ['digits', `a ${'1'.repeat(1_000_000)} ${'2'.repeat(1_000_000)}x`],
    ['lines', 'a 1\n'.repeat(300_000)],
  ])('of %s without number is read in the time that its length takes', (_, text) => look(text));
});

describe('a table of results that is bad', () => {
  it('has its cells read as they were written', { timeout: FUZZ_TIMEOUT_MS }, () => {
    const piece = fc.oneof(fc.string({ maxLength: 5 }), fc.constantFrom('"', ',', '\n', '\r\n', '__proto__', ' '));
    // Formulas get a mark when they are written, and blanks around cells go when they are read.
    const cell = fc.tuple(piece, piece).map((parts) =>
      parts
        .join('')
        .trim()
        .replace(/^[=+\-@]/, '~'),
    );
    fuzz(fc.array(fc.tuple(cell, cell), { maxLength: 4 }), (rows) => {
      const written = rows.filter((row) => row.some((each) => each !== ''));
      expect(csvRows(csvText([['a', 'b'], ...rows])).map(({ a, b }) => [a, b])).toEqual(written);
    });
  });

  it.each([
    ['quotes', `a,b\n${'"'.repeat(500_001)}x`],
    ['quotes and letters', `a,b\n${'"a'.repeat(500_000)}`],
    ['one cell', `a,b\n"${'x'.repeat(20_000_000)}"`],
    ['carriage returns', '\r'.repeat(1_000_000)],
    ['commas', ','.repeat(1_000_000)],
    ['lines', '\n'.repeat(1_000_000)],
  ])('of %s without number is read in the time that its length takes', (_, text) => {
    expect(csvRows(text).length).toBeLessThan(2);
  });

  it('cannot ask for more clients, samples or instances than are simulated', () => {
    const policy = {
      maxBatchSize: 8,
      preferredBatchSizes: [],
      maxQueueDelayNs: 0,
      instances: 1,
      dynamicBatching: true,
    };
    const traffic = { kind: 'closed', concurrency: 4, samplesPerRequest: 1 } as const;
    const run = (more: { concurrency?: number; maxBatchSize?: number; instances?: number }) => () =>
      simulate(
        { ...policy, ...more },
        affineLaw(1e6, 1e5),
        { ...traffic, ...more },
        { warmUpRequests: 0, requests: 9, seed: 1 },
      );
    for (const more of [{ concurrency: 1e12 }, { maxBatchSize: 2 ** 31 - 1 }, { instances: 2 ** 31 - 1 }]) {
      expect(run(more)).toThrow(expect.objectContaining({ code: 'INPUT_INVALID' }));
    }
    expect(run({})().requests).toBe(9);
  });
});

describe('a file of times that is bad', () => {
  const path = join(mkdtempSync(join(tmpdir(), 'tritune-fuzz-')), 'times');

  it.each([
    ['a line without an end', '1'.repeat(10_000_000)],
    ['blanks', ' '.repeat(10_000_000)],
    ['comments', '#'.repeat(1_000_000)],
    ['brackets', '['.repeat(1_000_000)],
  ])('of %s ends well', async (_, text) => {
    writeFileSync(path, text);
    await refusedOrAsync(() => readIntervals(path), 'INPUT_INVALID');
    await refusedOrAsync(() => readTimestamps(path), 'INPUT_INVALID');
  });
});
