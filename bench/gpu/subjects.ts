/** The models that are tuned: what they are called, what goes in and comes out, and the budgets. */
export const sizes = ['full', 'tiny'] as const;
/** `full` is for a GPU; `tiny` runs the same scripts with little arithmetic, for any machine. */
export type Size = (typeof sizes)[number];

export interface Subject {
  readonly name: string;
  readonly dataType: 'TYPE_FP32' | 'TYPE_INT64';
  readonly input: Readonly<Record<Size, readonly number[]>>;
  readonly output: Readonly<Record<Size, number>>;
  /** On the p99, in milliseconds. */
  readonly budgetsMs: Readonly<Record<Size, readonly [number, number]>>;
}

export const subjects: readonly Subject[] = [
  {
    name: 'image',
    dataType: 'TYPE_FP32',
    input: { full: [3, 224, 224], tiny: [3, 32, 32] },
    output: { full: 1000, tiny: 10 },
    budgetsMs: { full: [15, 50], tiny: [60, 150] },
  },
  {
    name: 'text',
    dataType: 'TYPE_INT64',
    input: { full: [128], tiny: [16] },
    output: { full: 768, tiny: 8 },
    budgetsMs: { full: [10, 40], tiny: [60, 150] },
  },
];

/** Errors: no such model. */
export function subjectNamed(name = ''): Subject {
  const found = subjects.find((subject) => subject.name === name);
  if (!found)
    throw new Error(`there is no model '${name}'; there are ${subjects.map((each) => each.name).join(' and ')}`);
  return found;
}

/** Where the instances are; `gpu` needs a server that sees one. */
export type Kind = 'gpu' | 'cpu';

/**
 * Returns the config to begin with, as a first attempt would be: one instance, dynamic batching, no
 * tricks.
 */
export function configOf({ name, dataType, input, output }: Subject, size: Size, kind: Kind): string {
  const parameters = {
    network: name,
    engine: size === 'full' ? 'torch' : 'numpy',
    precision: 'fp32',
    graphs: 'none',
    compile: 'none',
  };
  const place = kind === 'gpu' ? 'kind: KIND_GPU gpus: [ 0 ]' : 'kind: KIND_CPU';
  return `name: "${name}"
backend: "python"
max_batch_size: 32
input [ { name: "INPUT" data_type: ${dataType} dims: [ ${input[size].join(', ')} ] } ]
output [ { name: "OUTPUT" data_type: TYPE_FP32 dims: [ ${output[size]} ] } ]
instance_group [ { count: 1 ${place} } ]
dynamic_batching { }
${Object.entries(parameters)
  .map(([key, value]) => `parameters { key: "${key}" value { string_value: "${value}" } }`)
  .join('\n')}
`;
}
