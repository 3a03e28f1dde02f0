/**
 * The parts of the performance model that a benchmark can leave out, each with the effect of
 * leaving it out.
 */
export const modelParts = {
  interference: 'the usual interference, whatever was measured',
  'idle-interference': 'idle instances slow no others',
  averaging: 'the likeliest interference hypothesis alone, in place of the posterior mean',
  shape: 'an affine fit without residual corrections',
  filling: 'batches beyond the measured ones take as long as a line says, however much they save',
  settings: 'factors of settings are fitted once, to the law without settings, and say nothing about others',
  'front-end': 'the front end takes no time',
  tails: 'the usual spread of execution times',
  sharing: 'models on one device do not slow each other',
} as const satisfies Readonly<Record<string, string>>;

export type ModelPart = keyof typeof modelParts;

/** The parts that are left out. */
export interface WithoutParts {
  has(part: ModelPart): boolean;
}

/** The whole model. */
export const WHOLE: WithoutParts = { has: () => false };
