/** The parts of the model that a benchmark can leave out, and what takes their place. */
export const modelParts = {
  interference: 'instances slow each other as usual, whatever was seen',
  presence: 'instances that wait slow no others',
  averaging: 'the likeliest way of interference alone, in place of the mean of all that explain what was seen',
  shape: 'a line through the times of all batch sizes',
  company: 'executions of one count alike beside batches and among themselves',
  'step-uncertainty': 'times between batch sizes that were seen are doubted as if a line went through them',
  'setting-uncertainty': 'a setting is known at all batch sizes and instances where it was seen at one',
  'joint-factors': 'what a setting does is found by one look at the law without settings',
  'carry-over': 'a combination of settings that was not seen tells nothing of itself by those that were',
  'front-end': 'the front end takes no time',
  turns: 'all instances execute at once',
  tails: 'executions scatter as usual',
} as const satisfies Readonly<Record<string, string>>;

export type ModelPart = keyof typeof modelParts;

/** Tells which parts are left out. */
export interface WithoutParts {
  has(part: ModelPart): boolean;
}

/** Nothing is left out. */
export const WHOLE: WithoutParts = { has: () => false };
