import { join } from 'node:path';
import { z } from 'zod';
import { exitCodes } from '#app/exit-codes.ts';
import { TrituneError } from '#base/errors.ts';
import { pathBelow } from '#base/read-file.ts';

/** What a tool may do to the server, from nothing to a change of its models. */
export type ToolEffect = 'reads' | 'sends-load' | 'changes-models';

/** A run of the command line. */
export interface ToolRun {
  /** The command and its options, without those of the connection. */
  readonly words: readonly string[];
  /** The file of the result as JSON; null if the printed lines are the result. */
  readonly document: string | null;
  /** How long it takes at most; null if nothing says. */
  readonly seconds: number | null;
}

/** A command of tritune as a tool for agents. */
export interface Tool {
  readonly name: string;
  readonly effect: ToolEffect;
  /** False for one that needs no server. */
  readonly usesServer: boolean;
  readonly description: string;
  readonly input: z.ZodObject;
  /** Exit codes that are an answer and no failure. */
  readonly answers: readonly number[];
  /** `input`: as its schema reads it. `folder`: a new one for results. Errors: INPUT_INVALID. */
  readonly toRun: (input: never, folder: string) => ToolRun;
}

/** Keeps the type of the input between its schema and its use. */
const tool = <S extends z.ZodObject>(
  definition: Omit<Tool, 'input' | 'toRun'> & {
    readonly input: S;
    readonly toRun: (input: z.output<S>, folder: string) => ToolRun;
  },
): Tool => definition;

const name = z.string().min(1).max(1024);
const model = name.describe('The model');
const latencyBudgetMs = z.number().positive().describe('Highest latency allowed at the percentile, in milliseconds');
const percentile = z.number().min(1).max(99.99).describe('Latency percentile of the budget; 99 by default');
const range = z
  .strictObject({ low: z.int().min(1), high: z.int().min(1).max(4096) })
  .describe('Requests in flight, from the fewest to the most');

/** The goal and the limits of a search. */
const searchInput = z.strictObject({
  model,
  latencyBudgetMs: latencyBudgetMs.optional(),
  percentile: percentile.optional(),
  maxTrials: z.int().min(1).max(1000).optional().describe('Most configs to try'),
  timeBudgetSeconds: z.number().min(10).max(86_400).optional().describe('Longest time of the search'),
  concurrency: range.optional(),
});

const searchWords = (input: z.output<typeof searchInput>): readonly string[] => [
  `--model=${input.model}`,
  ...option('latency-budget', input.latencyBudgetMs),
  ...option('percentile', input.percentile),
  ...option('max-trials', input.maxTrials),
  ...option('time-budget', input.timeBudgetSeconds),
  ...option('concurrency', input.concurrency && `${input.concurrency.low}:${input.concurrency.high}`),
  '--ui=lines',
];

export const tools: readonly Tool[] = [
  tool({
    name: 'explain',
    effect: 'reads',
    usesServer: true,
    description:
      'Look at a live server without a request to its models: what they do, why they are slow, how much more traffic they bear (with 95 % intervals), and a config that is predicted to be better.',
    input: z.strictObject({
      models: z.array(name).max(100).optional().describe('Models to explain; every model with requests by default'),
      seconds: z.number().min(2).max(3600).default(30).describe('How long to look'),
      latencyBudgetMs: latencyBudgetMs.optional(),
      percentile: percentile.optional(),
    }),
    answers: [exitCodes.done],
    toRun: (input, folder) => {
      const document = join(folder, 'explain.json');
      return {
        words: [
          'explain',
          ...(input.models ?? []).map((each) => `--model=${each}`),
          ...option('for', `${input.seconds}s`),
          ...option('latency-budget', input.latencyBudgetMs),
          ...option('percentile', input.percentile),
          `--json=${document}`,
        ],
        document,
        seconds: input.seconds,
      };
    },
  }),
  tool({
    name: 'compare',
    effect: 'reads',
    usesServer: false,
    description:
      'Compare a run with a baseline, by intervals: passed, regression or inconclusive. Takes run directories or JSON documents of tritune.',
    input: z.strictObject({
      baseline: name.describe('Path of the baseline, below the directory in which this server runs'),
      run: name.describe('Path of the run to judge, likewise'),
      tolerancePercent: z.number().min(0).max(100).optional().describe('Accepted change for the worse; 2 by default'),
    }),
    answers: [exitCodes.done, exitCodes.regression, exitCodes.inconclusive],
    toRun: (input, folder) => {
      const document = join(folder, 'comparison.json');
      const paths = [input.baseline, input.run].map(checkPath);
      const options = [...option('tolerance', input.tolerancePercent), `--json=${document}`];
      return { words: ['compare', ...options, '--', ...paths], document, seconds: null };
    },
  }),
  tool({
    name: 'plan',
    effect: 'sends-load',
    usesServer: true,
    description:
      'Say which configs a tuning study of a model would try and how long it would take. Sends ten requests, one after another, to see how fast the model is; a model that is not loaded is loaded for that.',
    input: searchInput,
    answers: [exitCodes.done],
    toRun: (input) => ({ words: ['tune', '--dry-run', ...searchWords(input)], document: null, seconds: null }),
  }),
  tool({
    name: 'profile',
    effect: 'sends-load',
    usesServer: true,
    description:
      'Measure a model as it is: throughput and latency with 95 % intervals at each number of requests in flight, or at each request rate. Sends load to the server; changes nothing.',
    input: z.strictObject({
      model,
      concurrency: z
        .strictObject({ ...range.shape, step: z.int().min(1).default(1) })
        .optional()
        .describe('Requests in flight: each number from low to high, in steps'),
      requestsPerSecond: z.number().positive().optional().describe('A request rate, in place of requests in flight'),
      batchSize: z.int().min(1).optional().describe('Samples in one request; 1 by default'),
    }),
    answers: [exitCodes.done],
    toRun: (input, folder) => {
      const document = join(folder, 'profile.json');
      const { concurrency } = input;
      return {
        words: [
          'profile',
          `--model=${input.model}`,
          ...option('concurrency-range', concurrency && `${concurrency.low}:${concurrency.high}:${concurrency.step}`),
          ...option('request-rate-range', input.requestsPerSecond),
          ...option('batch', input.batchSize),
          `--json=${document}`,
        ],
        document,
        seconds: null,
      };
    },
  }),
  tool({
    name: 'tune',
    effect: 'changes-models',
    usesServer: true,
    description:
      "Search for the model's fastest config within a latency budget: loads configs one after another, sends load to each, and puts the original back at the end. Returns the summary, with 95 % intervals; the best config.pbtxt is in its directory.",
    input: searchInput.extend({ latencyBudgetMs }),
    answers: [exitCodes.done, exitCodes.infeasible],
    toRun: (input, folder) => ({
      words: ['tune', ...searchWords(input), `--output=${join(folder, 'run')}`],
      document: join(folder, 'run', 'summary.json'),
      seconds: input.timeBudgetSeconds ?? null,
    }),
  }),
];

const option = (flag: string, value: string | number | undefined): readonly string[] =>
  value === undefined ? [] : [`--${flag}=${value}`];

/** An agent may read only what lies below this process's directory. Errors: INPUT_INVALID. */
function checkPath(path: string): string {
  const below = pathBelow(process.cwd(), path);
  if (below !== undefined) return below;
  throw new TrituneError('INPUT_INVALID', `'${path}' lies outside of the directory`, 'name a file or a run below it');
}
