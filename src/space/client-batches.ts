import type { Json, JsonObject } from '#base/json.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { spaceFromJson } from './source/load.ts';
import type { ParameterFile, ValuesFile } from './source/schema.ts';
import { listValues } from './source/value-set.ts';
import type { SearchSpace } from './types.ts';

/**
 * The largest batch that clients send to a model in one request, in samples, and how that is known.
 */
export interface ClientBatch {
  readonly largest: number;
  /**
   * `config`: not known, so that the config's own limit stands for it. `option`: stated by the
   * user. `counters`: by those of the server.
   */
  readonly basis: 'config' | 'option' | 'counters';
}

/** Requests of clients that a server counted for a model, and the samples in them. */
export interface CountedRequests {
  readonly requests: number;
  readonly samples: number;
}

/** So many requests show what clients send. */
const MIN_COUNTED_REQUESTS = 10_000;

/**
 * True if the counters show that clients send one sample in each request. Of larger batches they
 * show only the mean.
 */
export const showSingleSamples = ({ requests, samples }: CountedRequests): boolean =>
  requests >= MIN_COUNTED_REQUESTS && samples === requests;

/** A space in which every candidate takes the batches that clients send. */
export interface ServingSpace {
  readonly space: SearchSpace;
  /** The values of `max_batch_size` that were left out for it, ascending. */
  readonly leftOut: readonly number[];
}

const BATCH = 'max_batch_size';

/**
 * Returns the space without candidates that take from clients of this original what they have:
 * batches of that size, and queue policies, priorities and ordering, which go with dynamic
 * batching. It also leaves out largest batches other than the original's where the server forms no
 * batches, because there they change nothing.
 */
export function servingClients(space: SearchSpace, original: ModelConfig, { largest }: ClientBatch): ServingSpace {
  const max_batch_size = original.max_batch_size ?? 0;
  if (max_batch_size < 1 || space.engine) return { space, leftOut: [] };
  const leftOut = new Set<number>();
  const { parameters = {}, rules = [] } = space.definition as {
    readonly parameters?: Readonly<Record<string, ParameterFile>>;
    readonly rules?: readonly JsonObject[];
  };
  const limited = Object.entries(parameters).map(([name, spec]) => {
    const isBatch = (spec.path ?? name) === BATCH;
    return [name, isBatch ? limitedTo(spec, largest, max_batch_size, leftOut) : spec] as const;
  });
  const hasOwn = limited.every(([name, spec]) => (spec.path ?? name) !== BATCH || offers(spec, max_batch_size));
  const definition = {
    ...space.definition,
    parameters: Object.fromEntries(limited),
    rules: [...rules, ...clientRules(original, largest), ...(hasOwn ? [INERT_BATCH] : [])],
  };
  return {
    space: spaceFromJson(JSON.parse(JSON.stringify(definition)) as JsonObject),
    leftOut: [...leftOut].sort((a, b) => a - b),
  };
}

function limitedTo(spec: ParameterFile, least: number, original: number, leftOut: Set<number>): ParameterFile {
  const { cases, ...rest } = spec;
  if (cases) return { ...rest, cases: cases.map(({ when, ...group }) => ({ ...(when && { when }), ...limit(group) })) };
  return limit(rest);

  function limit<T extends ValuesFile>(group: T): T {
    if (group.choices !== undefined) return group;
    const values = listValues(group);
    const isSmaller = (value: Json): boolean => typeof value === 'number' && value < least;
    for (const value of values.filter(isSmaller)) leftOut.add(value as number);
    const kept = values.filter((value) => !isSmaller(value));
    // Values that a person listed stay as they are; computed ones include the original's.
    const isListed = group.values !== undefined && kept.length > 0;
    const all = isListed || kept.includes(original) ? kept : [...kept, original].sort((a, b) => Number(a) - Number(b));
    const { range: _range, step: _step, points: _points, powers: _powers, ...others } = group;
    return { ...others, values: all } as T;
  }
}

const offers = ({ cases, ...spec }: ParameterFile, original: number): boolean =>
  (cases ?? [spec]).every(
    (group) =>
      group.choices === undefined && (group.values ?? []).some((value) => value === original || value === null),
  );

function clientRules(original: ModelConfig, largest: number): JsonObject[] {
  const kept = dependsOnBatching(original);
  return [
    {
      name: 'client-batch',
      when: { 'base.max_batch_size': { at_least: 1 } },
      require: `config.max_batch_size >= ${largest}`,
      message: `clients may send requests of ${largest} samples`,
    },
    ...(kept === null
      ? []
      : [
          {
            name: 'client-queue',
            when: { 'config.dynamic_batching': { present: false } },
            require: '0 == 1',
            message: `clients rely on ${kept}, which dynamic batching alone has`,
          },
        ]),
  ];
}

/**
 * Returns the first of the original's settings that clients notice and that go with dynamic
 * batching; null for none.
 */
function dependsOnBatching({ dynamic_batching: batching }: ModelConfig): string | null {
  const { priority_levels: levels, default_queue_policy: policy, preserve_ordering: ordering } = batching ?? {};
  if (Number(levels ?? 0) > 0) return 'priority_levels';
  if (policy !== undefined && policy !== null) return 'default_queue_policy';
  return ordering === true ? 'preserve_ordering' : null;
}

/** Without a batcher an execution is one request, whatever the largest batch is. */
const INERT_BATCH = {
  name: 'batch-without-batching',
  when: {
    'base.max_batch_size': { at_least: 1 },
    'config.dynamic_batching': { present: false },
    'config.sequence_batching': { present: false },
  },
  require: 'config.max_batch_size == base.max_batch_size',
  message: 'without dynamic batching another max_batch_size changes nothing',
};
