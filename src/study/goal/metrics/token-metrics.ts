import type { LatencySummary } from '#profiler/figure-schemas.ts';
import type { Measurement } from '#profiler/measurement.ts';
import type { TokenFigures } from '#profiler/token-figures.ts';
import type { Interval } from '#stats/interval.ts';
import { latencyParts } from './latency-parts.ts';
import type { Metric, MetricColumn } from './metric.ts';

const needs = ['tokens'] as const;
const tokensPerSecond = { unit: 'tokens/s', units: { 'tokens/s': 1, 'tok/s': 1 }, better: 'higher', needs } as const;
const NONE: Interval = { value: Number.NaN, low: Number.NaN, high: Number.NaN };

/** The interval of a measurement, which may not be of a language model. */
const createInterval =
  (of: (tokens: TokenFigures) => Interval | undefined) =>
  ({ tokens }: Measurement): Interval =>
    (tokens && of(tokens)) ?? NONE;

const columns = (name: string, of: (measurement: Measurement) => Interval): readonly MetricColumn[] => [
  { name, read: (measurement) => of(measurement).value },
  { name: `${name}_low`, read: (measurement) => of(measurement).low },
  { name: `${name}_high`, read: (measurement) => of(measurement).high },
];

interface TokenTime {
  readonly name: 'ttft' | 'itl' | 'tpot';
  readonly label: string;
  readonly what: string;
  /** As its users see it: in an open loop from the time due, if that makes a difference. */
  readonly seen: (tokens: TokenFigures) => LatencySummary;
  /** From the sending. */
  readonly sent: (tokens: TokenFigures) => LatencySummary;
}

const times: readonly TokenTime[] = [
  {
    name: 'ttft',
    label: 'TTFT',
    what: 'time to first token: to the first piece with output, reasoning included',
    seen: ({ ttftMs, scheduledTtftMs }) => scheduledTtftMs ?? ttftMs,
    sent: ({ ttftMs }) => ttftMs,
  },
  {
    name: 'itl',
    label: 'ITL',
    what: 'inter-token latency: every gap between pieces with output',
    seen: ({ itlMs }) => itlMs,
    sent: ({ itlMs }) => itlMs,
  },
  {
    name: 'tpot',
    label: 'TPOT',
    what: 'time per output token: (end-to-end − TTFT) / (output tokens − 1), one figure a request',
    seen: ({ tpotMs }) => tpotMs,
    sent: ({ tpotMs }) => tpotMs,
  },
];

const figures = ['avg', 'p50', 'p90', 'p95', 'p99'] as const;
const words = { avg: 'mean', p50: 'median', p90: '90th percentile', p95: '95th percentile', p99: '99th percentile' };

function listMetrics({ name, label, what, seen, sent }: TokenTime): readonly Metric[] {
  // Replies of one token, and those that come whole, have no gaps.
  const isKnown = (tokens: TokenFigures): boolean => sent(tokens).max > 0;
  const interval = createInterval((tokens) => (isKnown(tokens) ? tokens.budget[`${name}Ms`] : undefined));
  const scheduled = (figure: 'p50' | 'p99'): MetricColumn => ({
    name: `scheduled_${name}_${figure}_ms`,
    meaning: `${figure} of the ${label}, from when requests were due`,
    read: ({ tokens }) => tokens?.scheduledTtftMs?.[figure],
  });
  return [
    {
      name,
      label,
      description: `${what}; the percentile of \`--percentile\``,
      ...latencyParts,
      needs,
      interval: { from: 'histogram', of: interval },
      read: (measurement) => interval(measurement).value,
      columns: columns(`${name}_budget_ms`, interval),
    },
    ...figures.map(
      (figure): Metric => ({
        name: `${name}-${figure}`,
        label: figure === 'avg' ? `mean ${label}` : `${label} ${figure}`,
        description: `${words[figure]} of the ${label}`,
        ...latencyParts,
        needs,
        read: ({ tokens }) => (tokens && isKnown(tokens) ? seen(tokens)[figure] : undefined),
        columns: [
          { name: `${name}_${figure}_ms`, read: ({ tokens }) => tokens && sent(tokens)[figure] },
          ...(name === 'ttft' && (figure === 'p50' || figure === 'p99') ? [scheduled(figure)] : []),
        ],
      }),
    ),
  ];
}

const outputRate = createInterval(({ outputTokensPerSecond }) => outputTokensPerSecond);
const totalRate = createInterval(({ totalTokensPerSecond }) => totalTokensPerSecond);

/** Metrics from a language model's streamed replies. */
export const tokenMetrics: readonly Metric[] = [
  ...times.flatMap(listMetrics),
  {
    name: 'output-token-throughput',
    label: 'output',
    description: 'output tokens per second, of whole replies',
    ...tokensPerSecond,
    interval: { from: 'windows', of: outputRate },
    read: (measurement) => outputRate(measurement).value,
    columns: columns('output_tokens_per_s', outputRate),
  },
  {
    name: 'total-token-throughput',
    label: 'input and output',
    description: 'input and output tokens per second, of whole replies',
    ...tokensPerSecond,
    interval: { from: 'windows', of: totalRate },
    read: (measurement) => totalRate(measurement).value,
    columns: columns('total_tokens_per_s', totalRate),
  },
  {
    name: 'output-tokens-per-user',
    label: 'per user',
    description: 'output tokens per second that one user sees while they come: the mean of 1 / TPOT',
    ...tokensPerSecond,
    interval: null,
    read: ({ tokens }) => tokens?.outputTokensPerSecondPerUser,
    columns: [{ name: 'output_tokens_per_s_per_user', read: ({ tokens }) => tokens?.outputTokensPerSecondPerUser }],
  },
  {
    name: 'output-tokens-per-gpu',
    label: 'per GPU',
    description: 'output tokens per second for each GPU that the metrics page or nvidia-smi shows',
    ...tokensPerSecond,
    needs: ['tokens', 'gpu-metrics'],
    interval: null,
    read: perGpu,
    columns: [{ name: 'output_tokens_per_s_per_gpu', read: perGpu }],
  },
];

function perGpu({ tokens, device }: Measurement): number | undefined {
  const gpus = device.gpus?.length ?? 0;
  return tokens && gpus > 0 ? tokens.outputTokensPerSecond.value / gpus : undefined;
}
