import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readCapacityScaling, withAutoscalers as withMeasured } from '#app/capacity/scaling.ts';
import { parseEmitted, readScalingQuestion, type ScalingQuestion } from '#app/emit-autoscaler.ts';
import { withAutoscalers as withPredicted } from '#app/explain/scaling.ts';
import { capacityLines } from '#headless/capacity-lines.ts';
import { explainLines } from '#headless/explain-lines.ts';
import { aCapacity } from '../../capacity/documents.ts';
import { anExplanation } from '../../explain/documents.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tritune-emit-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const ask = async (file: string, more: object = {}): Promise<ScalingQuestion> => {
  const emit = [{ kind: 'keda' as const, file: join(folder, file) }];
  return (await readScalingQuestion({ emit, forRate: 10_000, ...more })) as ScalingQuestion;
};

describe('--emit', () => {
  it('takes kinds and files in turn', () => {
    const read = (...texts: string[]) => texts.reduce((all, text) => parseEmitted(text, all), parseEmitted('keda'));
    expect(read('a.yaml', 'hpa', 'knative')).toEqual([
      { kind: 'keda', file: 'a.yaml' },
      { kind: 'hpa', file: 'knative' },
    ]);
    expect(() => read('a.yaml', 'vpa')).toThrow("'vpa' is not an autoscaler");
  });

  it('needs a file and a traffic', async () => {
    await expect(readScalingQuestion({ emit: parseEmitted('hpa'), forRate: 1 })).rejects.toThrow(
      '--emit hpa names no file',
    );
    await expect(readScalingQuestion({ emit: [{ kind: 'hpa', file: 'x' }] })).rejects.toThrow(
      'needs the traffic to serve',
    );
    expect(await readScalingQuestion({ forRate: 1 })).toBeNull();
    await expect(readScalingQuestion({ replicaStart: 5 })).rejects.toThrow('--replica-start has no use without --emit');
    await expect(readScalingQuestion({ forTraffic: 'x' })).rejects.toThrow('--for-traffic has no use without --emit');
  });

  it('refuses services without metrics of Triton, but for Knative', async () => {
    const options = (kind: 'keda' | 'knative') => ({ emit: [{ kind, file: 'x' }], forRate: 1 });
    await expect(readCapacityScaling('http', options('keda'))).rejects.toThrow('which this service has not');
    expect(await readCapacityScaling('http', options('knative'))).not.toBeNull();
  });

  it('writes the object of a measured capacity, with its remarks and values', async () => {
    const document = await withMeasured(aCapacity(), await ask('measured.yaml'));
    const [scaling] = document.autoscalers ?? [];
    expect(scaling).toMatchObject({ kind: 'keda', isPredicted: false, startSeconds: 60, holds: true });
    expect(scaling?.targetPerSecond).toBeLessThan(1000);
    expect(scaling?.traffic.map(({ name }) => name)).toEqual(['website', 'conversations']);
    const text = await readFile(join(folder, 'measured.yaml'), 'utf8');
    expect(text).toContain(
      "A replica of 'm' serves 1,000 requests/s (980 to 1,020) with p99 within 50 ms:\n# measured",
    );
    expect(text).toContain('(assumed: see --replica-start)');
    expect(parse(text)).toMatchObject({ kind: 'ScaledObject', spec: { maxReplicaCount: scaling?.maxReplicas } });
    expect(capacityLines(document).join('\n')).toContain('requests/s for each replica, ');
  });

  it('keeps replicas for as long as bursts took to recover', async () => {
    const [play] = aCapacity().burst?.plays ?? [];
    const burst = { ...aCapacity().burst, plays: [{ ...play, recoveredAfterSeconds: 700 }] } as ReturnType<
      typeof aCapacity
    >['burst'];
    const document = await withMeasured(aCapacity({ burst }), await ask('burst.yaml'));
    expect(document.autoscalers?.[0]?.scaleDownSeconds).toBeGreaterThanOrEqual(700);
  });

  it('writes nothing without a capacity', async () => {
    const document = await withMeasured(aCapacity({ capacity: null }), await ask('none.yaml'));
    expect(document.autoscalers).toBeUndefined();
    await expect(readFile(join(folder, 'none.yaml'))).rejects.toThrow('ENOENT');
  });

  it('takes the traffic of a workload', async () => {
    const workload = {
      workloadVersion: 1,
      name: 'mine',
      phases: [{ durationS: 7200, arrivals: { process: 'ramp', fromPerSecond: 100, toPerSecond: 3000 } }],
    };
    const path = join(folder, 'mine.json');
    await writeFile(path, JSON.stringify(workload));
    const { traffic } = await ask('x.yaml', { forTraffic: path, forRate: undefined });
    expect(traffic[0]).toMatchObject({ name: 'mine', stepSeconds: 60 });
    expect(Math.max(...(traffic[0]?.perSecond ?? []))).toBeCloseTo(2988, 0);
    const scaled = await ask('x.yaml', { forTraffic: path, forRate: 500 });
    expect(Math.max(...(scaled.traffic[0]?.perSecond ?? []))).toBeCloseTo(500);
  });

  it('marks what explain predicts', async () => {
    const explanation = await withPredicted(anExplanation, await ask('predicted.yaml'));
    expect(explanation.autoscalers?.[0]).toMatchObject({ isPredicted: true });
    expect(await readFile(join(folder, 'predicted.yaml'), 'utf8')).toContain(
      '# predicted from live traffic, not measured',
    );
    expect(explainLines(explanation).join('\n')).toContain('keda (predicted): ');
  });

  it('needs one model whose ceiling is known', async () => {
    const [model] = anExplanation.models as [(typeof anExplanation.models)[number]];
    const question = await ask('no.yaml');
    const two = { ...anExplanation, models: [model, { ...model, model: 'other' }] };
    await expect(withPredicted(two, question)).rejects.toThrow('detector, other had requests');
    await expect(withPredicted({ ...anExplanation, models: [] }, question)).rejects.toThrow(
      'needs a model with requests',
    );
    const unknown = { ...anExplanation, models: [{ ...model, present: null }] };
    await expect(withPredicted(unknown, question)).rejects.toThrow("the ceiling of 'detector' is unknown");
  });
});
