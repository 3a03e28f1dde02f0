import { Document } from 'yaml';
import { inertLine } from '#base/format.ts';
import type { JsonObject } from '#base/json.ts';
import { type AutoscalerKind, autoscalers } from './autoscaler.ts';
import type { ScalingDocument } from './document.ts';

/** What the objects name. */
export interface ScaledService {
  readonly model: string;
  /** The image of the server's container. */
  readonly image: string;
  /** Lines about the figures, which the file begins with. */
  readonly remarks: readonly string[];
}

/** The Deployment of the servers, and Prometheus, as people must change them. */
const DEPLOYMENT = 'triton';
const PROMETHEUS = 'http://prometheus-server.monitoring.svc:80';
/** Label and metric names of Kubernetes have at most this many letters. */
const MAX_NAME = 50;

/**
 * Returns the YAML of an autoscaler's object: a ScaledObject of KEDA, a HorizontalPodAutoscaler, or
 * a Service of Knative.
 */
export function printManifest(scaling: ScalingDocument, service: ScaledService): string {
  const { object, remarks } = manifests[scaling.kind](scaling, service);
  const document = new Document(object);
  document.commentBefore = [...service.remarks, ...remarks].map((line) => ` ${inertLine(line)}`).join('\n');
  return document.toString({ lineWidth: 0 });
}

interface Manifest {
  readonly object: JsonObject;
  /** What a person must look at. */
  readonly remarks: readonly string[];
}

const manifests: Readonly<Record<AutoscalerKind, (scaling: ScalingDocument, service: ScaledService) => Manifest>> = {
  // keda.sh/v1alpha1: https://keda.sh/docs/latest/reference/scaledobject-spec/
  keda: (scaling, { model }) => ({
    object: {
      apiVersion: 'keda.sh/v1alpha1',
      kind: 'ScaledObject',
      metadata: { name: toName(model) },
      spec: {
        scaleTargetRef: { name: DEPLOYMENT },
        minReplicaCount: scaling.minReplicas,
        maxReplicaCount: scaling.maxReplicas,
        cooldownPeriod: scaling.scaleDownSeconds,
        advanced: { horizontalPodAutoscalerConfig: { behavior: toBehavior(scaling) } },
        triggers: [
          {
            type: 'prometheus',
            metricType: 'AverageValue',
            metadata: {
              serverAddress: PROMETHEUS,
              query: countRequests(`model=${quoteLabel(model)}`, autoscalers.keda.windowSeconds),
              threshold: formatTarget(scaling),
            },
          },
        ],
      },
    },
    remarks: [`Change scaleTargetRef to your Deployment, and serverAddress to your Prometheus.`],
  }),
  hpa: (scaling, { model }) => {
    const metric = `triton_${toName(model).replaceAll('-', '_')}_requests_per_second`;
    return {
      object: {
        apiVersion: 'autoscaling/v2',
        kind: 'HorizontalPodAutoscaler',
        metadata: { name: toName(model) },
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: DEPLOYMENT },
          minReplicas: scaling.minReplicas,
          maxReplicas: scaling.maxReplicas,
          metrics: [
            {
              type: 'Pods',
              pods: {
                metric: { name: metric },
                target: { type: 'AverageValue', averageValue: formatQuantity(scaling.targetPerSecond) },
              },
            },
          ],
          behavior: toBehavior(scaling),
        },
      },
      remarks: [
        'Change scaleTargetRef to your Deployment. The metric is one of Prometheus Adapter, by a rule such as:',
        `- seriesQuery: 'nv_inference_request_success{model=${quoteLabel(model)}}'`,
        '  resources: { overrides: { namespace: { resource: namespace }, pod: { resource: pod } } }',
        `  name: { as: ${metric} }`,
        `  metricsQuery: '${countRequests(`<<.LabelMatchers>>,model=${quoteLabel(model)}`, autoscalers.hpa.windowSeconds, ' by (<<.GroupBy>>)')}'`,
      ],
    };
  },
  // serving.knative.dev/v1: https://knative.dev/docs/serving/autoscaling/
  knative: (scaling, { model, image }) => ({
    object: {
      apiVersion: 'serving.knative.dev/v1',
      kind: 'Service',
      metadata: { name: toName(model) },
      spec: {
        template: {
          metadata: {
            annotations: {
              'autoscaling.knative.dev/class': 'kpa.autoscaling.knative.dev',
              'autoscaling.knative.dev/metric': 'rps',
              'autoscaling.knative.dev/target': formatTarget(scaling),
              // The target is what a replica should get: no further share is kept free.
              'autoscaling.knative.dev/target-utilization-percentage': '100',
              'autoscaling.knative.dev/min-scale': `${scaling.minReplicas}`,
              'autoscaling.knative.dev/max-scale': `${scaling.maxReplicas}`,
              'autoscaling.knative.dev/scale-down-delay': `${scaling.scaleDownSeconds}s`,
              'autoscaling.knative.dev/window': `${autoscalers.knative.windowSeconds}s`,
            },
          },
          spec: { containers: [{ name: 'triton', image, args: ['tritonserver', '--model-repository=/models'] }] },
        },
      },
    },
    remarks: ['Keep the annotations; the container is a place for your own.'],
  }),
};

/**
 * Fewer replicas are taken late, more at once (autoscaling/v2, HorizontalPodAutoscalerBehavior).
 */
const toBehavior = ({ scaleDownSeconds }: ScalingDocument): JsonObject => ({
  scaleUp: { stabilizationWindowSeconds: 0 },
  scaleDown: { stabilizationWindowSeconds: scaleDownSeconds },
});

/**
 * Returns the answers per second, and the waiting requests over the same time, as a query of
 * Prometheus: a full server answers no more than it can, whatever comes.
 */
const countRequests = (labels: string, seconds: number, by = ''): string =>
  `sum(rate(nv_inference_request_success{${labels}}[${seconds}s]))${by} + sum(nv_inference_pending_request_count{${labels}})${by} / ${seconds}`;

/** Returns a label's value as PromQL writes it: with the escapes of JSON and Go. */
const quoteLabel = (value: string): string => JSON.stringify(value);

const formatTarget = ({ targetPerSecond }: ScalingDocument): string => `${Number(targetPerSecond.toPrecision(3))}`;

/** Returns a quantity of Kubernetes: whole, or in thousandths. */
function formatQuantity(value: number): string {
  const rounded = Number(value.toPrecision(3));
  return Number.isInteger(rounded) ? `${rounded}` : `${Math.round(1000 * rounded)}m`;
}

/** Returns a name of Kubernetes (RFC 1123): lower-case letters, digits and hyphens. */
function toName(model: string): string {
  const name = model
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, MAX_NAME)
    .replace(/^-+|-+$/g, '');
  return name === '' ? 'model' : /^[a-z]/.test(name) ? name : `model-${name}`;
}
