/** Samplers that stop by themselves do so after about as many trials; null for one that goes on to its limit. */
export const usualTrials = (sampler: string): number | null => usual[sampler] ?? null;

const usual: Readonly<Record<string, number>> = { queueing: 9, 'hill-climb': 8 };
