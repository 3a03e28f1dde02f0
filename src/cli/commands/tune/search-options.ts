import { checkSamplerName } from '#app/study/find-sampler.ts';
import type { FlatStudyOptions } from '#spec/tune-options.ts';
import { samplerNames } from '#study/search/samplers/registry.ts';
import { type OptionTable, under } from '../../options/option-table.ts';

type SearchOptions = Pick<
  FlatStudyOptions,
  | 'space'
  | 'clientBatch'
  | 'sampler'
  | 'candidates'
  | 'seed'
  | 'leastGain'
  | 'certify'
  | 'prior'
  | 'maxTrials'
  | 'timeBudget'
>;
type LevelOptions = Pick<FlatStudyOptions, 'concurrency' | 'batchSize' | 'requestRate' | 'requestDistribution'>;

/** The options for which candidates a study tries, and for how long. */
export const searchOptionTable: OptionTable<SearchOptions> = under<SearchOptions>('Search', {
  space: {
    flags: '--space <file|preset>',
    help: "Search space: a YAML file or a preset (default: the preset of the model's backend)",
  },
  clientBatch: {
    flags: '--client-batch <n>',
    help: "Most samples that your clients send in one request: allows a max_batch_size down to this (default: not below the original's)",
  },
  timeBudget: {
    flags: '--time-budget <duration>',
    help: 'Stop the search after this time, such as 90s, 10m or 2h',
  },
  maxTrials: { flags: '--max-trials <n>', help: 'Stop the search after this many candidates' },
  leastGain: {
    flags: '--least-gain <percent>',
    help: 'Smallest gain worth having, in percent: keep the original config for less; the queueing sampler stops when the next trial is expected to gain less (default: any; 25 / trials so far, at least 1)',
  },
  certify: {
    flags: '--certify <percent>',
    help: 'Continue the search until no config of the space can be better than its best by more than this, with 95 % (docs/search.md)',
  },
  prior: {
    flags: '--prior <path>',
    help: 'Try first the best of an earlier study of the model, or of one like it (its run directory), or what explain --json FILE proposed; repeatable (docs/search.md)',
  },
  sampler: {
    flags: '--sampler <name|file>',
    help: `How to choose candidates: ${samplerNames.join(', ')}, or a module of your own (docs/search.md; default: queueing, or tpe with --adapter)`,
    parse: samplerName,
    offers: samplerNames,
  },
  candidates: {
    flags: '--candidates <file>',
    help: 'YAML or JSON file with the candidates of --sampler manual',
  },
  seed: { flags: '--seed <n>', help: 'Seed of the random numbers' },
});

/** The options for the load that candidates are measured under. */
export const levelRangeOptionTable: OptionTable<LevelOptions> = under<LevelOptions>('Load', {
  concurrency: {
    flags: '--concurrency <low:high>',
    help: 'Range of requests in flight (default: from 1 to twice the largest batches of all instances, at least 256, at most 4096)',
  },
  requestRate: {
    flags: '--request-rate <low:high>',
    help: 'Range of requests per second, instead of --concurrency',
  },
  requestDistribution: {
    flags: '--request-distribution <name>',
    help: 'Arrivals of --request-rate: evenly spaced, or random (a Poisson process)',
  },
  batchSize: {
    flags: '--batch-size <low:high>',
    help: 'Range of samples in one request, instead of --batch',
  },
});

/** Errors: USAGE for an unknown sampler. */
function samplerName(text: string): string {
  checkSamplerName(text);
  return text;
}
