import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { printWorkload, traceText } from '#workload/print-workload.ts';
import { parseWorkload } from '#workload/read-workload.ts';
import { freshDirectory } from '../support/run-directory.ts';

const content = `workloadVersion: 1
name: all of it
classes:
  thumb: { weight: 3, limitMs: 40 }
  '/photo, large': { weight: 1, ttftMs: 200, model: resnet, endpoint: openai, requests: { batch: 4, inputData: [photo.json, zero] } }
phases:
  - { name: calm, durationS: 60, arrivals: { process: poisson, perSecond: 200 } }
  - { durationS: 60, arrivals: { process: gamma, perSecond: 200, cv: 3 }, weights: { thumb: 1 } }
  - { durationS: 60, arrivals: { process: ramp, fromPerSecond: 5, toPerSecond: 4, cv: 0 }, weights: { from: { thumb: 1 }, to: { '/photo, large': 1 } } }
  - { durationS: 600, arrivals: { process: diurnal, perSecond: 100, peakRatio: 3 } }
  - { arrivals: { process: trace, atS: [0, 0.25, 7], classOf: [thumb, '/photo, large', thumb], resolutionS: 0.5 } }
  - { durationS: 9, arrivals: { process: trace, atS: [0, 8] }, weights: { thumb: 1, '/photo, large': 2 } }
sessions: { turns: { kind: uniform, low: 1, high: 4 }, thinkTimeMs: { kind: log-normal, mean: 900, std: 300 } }
`;

describe('a printed workload', () => {
  it('reads back to what it was, with its traces and paths', async () => {
    const folder = await freshDirectory();
    const workload = await parseWorkload(content, join(folder, 'x.yaml'));
    const { yaml, traces } = printWorkload(
      workload,
      'Made by hand.\nTwice.',
      (phase) => `t${phase}.csv`,
      (path) => path,
    );
    for (const { name, arrivals } of traces) {
      await writeFile(join(folder, name), [...traceText(arrivals, workload.classes)].join(''));
    }
    expect(traces.map(({ name }) => name)).toEqual(['t4.csv', 't5.csv']);
    expect(await parseWorkload(yaml, join(folder, 'y.yaml'))).toEqual(workload);
    expect(yaml).toMatch(/^# Made by hand\.\n# Twice\.\n\nworkloadVersion: 1\n/);
    expect(yaml).toContain('\n  thumb: { weight: 3, limitMs: 40 }\n');
    expect(yaml).toContain(
      '\n  - { durationS: 60, arrivals: { process: gamma, perSecond: 200, cv: 3 }, weights: { thumb: 1 } }\n',
    );
  });

  it('has its traces as seconds with six decimals and the class', async () => {
    const { phases, classes } = await parseWorkload(content, 'x.yaml');
    const arrivals = phases[4]?.arrivals;
    if (arrivals?.process !== 'trace') throw new Error('not a trace');
    expect([...traceText(arrivals, classes)].join('')).toBe('time,class\n0,thumb\n0.25,"/photo, large"\n7,thumb\n');
  });
});
