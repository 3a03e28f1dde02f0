import { ScaledObject } from '@kubernetes-models/keda/keda.sh/v1alpha1/ScaledObject';
import { Service } from '@kubernetes-models/knative/serving.knative.dev/v1/Service';
import fc from 'fast-check';
import { HorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2/HorizontalPodAutoscaler';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { type AutoscalerKind, autoscalerKinds } from '#autoscale/autoscaler.ts';
import { printManifest } from '#autoscale/manifest.ts';
import { aScaling } from './documents.ts';

/** Kubernetes', KEDA's and Knative's published schemas. */
const schemas = { keda: ScaledObject, hpa: HorizontalPodAutoscaler, knative: Service };

const printed = (kind: AutoscalerKind, model = 'resnet'): string =>
  printManifest(
    { ...aScaling, kind },
    { model, image: 'nvcr.io/nvidia/tritonserver:26.09-py3', remarks: ['measured'] },
  );

function check(kind: AutoscalerKind, text: string): void {
  new schemas[kind](parse(text) as never).validate();
}

describe("an autoscaler's object", () => {
  it.each(autoscalerKinds)('of %s passes its schema', (kind) => {
    check(kind, printed(kind));
    const broken = printed('keda').replace('minReplicaCount: 2', 'minReplicaCount: "2"');
    expect(() => check('keda', broken)).toThrow('minReplicaCount');
  });

  it('has the values', () => {
    const keda = printed('keda');
    expect(keda).toContain('# measured');
    expect(parse(keda)).toMatchObject({
      metadata: { name: 'resnet' },
      spec: {
        minReplicaCount: 2,
        maxReplicaCount: 15,
        triggers: [
          {
            metadata: {
              query:
                'sum(rate(nv_inference_request_success{model="resnet"}[60s])) + sum(nv_inference_pending_request_count{model="resnet"}) / 60',
              threshold: '160',
            },
          },
        ],
      },
    });
    expect(parse(printed('hpa'))).toMatchObject({
      spec: {
        minReplicas: 2,
        behavior: { scaleDown: { stabilizationWindowSeconds: 300 } },
        metrics: [{ pods: { target: { averageValue: '160' } } }],
      },
    });
    expect(printed('hpa')).toContain('as: triton_resnet_requests_per_second');
    expect(parse(printed('knative'))).toMatchObject({
      spec: { template: { metadata: { annotations: { 'autoscaling.knative.dev/target': '160' } } } },
    });
  });

  it('gives fractions as thousandths where Kubernetes has quantities', () => {
    const text = printManifest(
      { ...aScaling, kind: 'hpa', targetPerSecond: 0.4567 },
      { model: 'm', image: 'i', remarks: [] },
    );
    expect(text).toContain('averageValue: 457m');
  });

  it('is one valid object whatever the model is called', () => {
    fc.assert(
      fc.property(fc.constantFrom(...autoscalerKinds), fc.string({ unit: 'binary', minLength: 1 }), (kind, model) => {
        const text = printed(kind, model);
        check(kind, text);
        expect(parseAllDocuments(text)).toHaveLength(1);
        expect((parse(text) as { metadata: { name: string } }).metadata.name).toMatch(
          /^[a-z]([a-z0-9-]{0,61}[a-z0-9])?$/,
        );
      }),
      { seed: 1, numRuns: 300 },
    );
  });
});
