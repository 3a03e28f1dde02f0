/**
 * The parts of the sampler that a benchmark can leave out, to see what each is worth (`bench-search --without NAME`), and what
 * takes their place.
 */
export const mechanisms = {
  crowding: 'instances slow each other as usual, whatever was seen',
  presence: 'instances that wait slow no others',
  averaging: 'the likeliest way of crowding alone, in place of the mean of all that explain what was seen',
  shape: 'a line through the times of all batch sizes',
  company: 'executions of one count alike beside batches and among themselves',
  'step-doubt': 'times between batch sizes that were seen are doubted as if a line went through them',
  'setting-doubt': 'a setting is known at all batch sizes and instances where it was seen at one',
  'joint-factors': 'what a setting does is found by one look at the law without settings',
  'carry-over': 'a combination of settings that was not seen tells nothing of itself by those that were',
  'front-end': 'the front end takes no time',
  turns: 'all instances execute at once',
  tails: 'executions scatter as usual',
  correction: 'simulations are doubted, and never corrected',
  adaptive: 'the correction varies over the space as usual, however large the misses were',
  trend: 'misses of the percentile do not grow with the batch',
  'shared-doubt': 'doubts of throughput and latency are independent',
  inflation: 'the model is never taken to know less than it thinks',
  luck: 'readings that met the goal are taken at their word',
  time: 'the time that a trial takes does not count',
  scout: 'no trial only to see larger batches',
  returning: 'no candidate is tried again at other levels',
  repeating: 'what missed the goal is not measured again',
  staying: 'one level for each trial',
  lowest: 'the best level of a candidate, where a lower one promises about as much',
  'whole-batches': 'levels that are a few requests short of whole batches',
  refusals: 'refused loads say nothing of others',
  memory: 'the GPU memory that the server reports says nothing of loads',
  coverage: 'values of settings that were never measured do not keep a search from ending',
  bisection: 'after a refusal for memory more instances of other settings may be tried',
  belief: 'trials without a gain leave the belief in the next one as it was',
} as const satisfies Readonly<Record<string, string>>;

export type Mechanism = keyof typeof mechanisms;

/** What is left out. */
export type Without = ReadonlySet<Mechanism>;

export const NOTHING: Without = new Set();
