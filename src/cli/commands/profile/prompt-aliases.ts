import { type Command, Option } from 'commander';
import { TrituneError } from '#base/errors.ts';
import { lookUp } from '#base/look-up.ts';
import type { PromptSpec } from '#workload/prompt-spec.ts';

const counted = ['inputTokens', 'outputTokens', 'turns', 'thinkTimeMs'] as const;
type Counted = (typeof counted)[number];
type Figure =
  | `${Counted}.${'mean' | 'std'}`
  | 'prompts'
  | 'prefixTokens'
  | 'prefixPrompts'
  | 'rangeRatio'
  | 'slice.fromMs'
  | 'slice.toMs';

/**
 * Flags of AIPerf (0.13), of vLLM's `bench serve` (0.12 and later) and of GenAI-Perf, and the
 * figure that each sets.
 */
const figures: Readonly<Record<string, Figure>> = {
  ...named('inputTokens.mean', 'synthetic-input-tokens-mean prompt-input-tokens-mean isl isl-mean'),
  ...named('inputTokens.mean', 'random-input-len prefix-repetition-suffix-len'),
  ...named('inputTokens.std', 'synthetic-input-tokens-stddev prompt-input-tokens-stddev isl-stddev'),
  ...named('outputTokens.mean', 'output-tokens-mean prompt-output-tokens-mean osl osl-mean random-output-len'),
  ...named('outputTokens.mean', 'sharegpt-output-len custom-output-len prefix-repetition-output-len'),
  ...named('outputTokens.std', 'output-tokens-stddev prompt-output-tokens-stddev osl-stddev'),
  ...named('rangeRatio', 'random-range-ratio'),
  ...named('prompts', 'num-prompts num-dataset-entries num-conversations num-sessions conversation-num'),
  ...named('prefixTokens', 'prefix-prompt-length prompt-prefix-length random-prefix-len prefix-repetition-prefix-len'),
  ...named('prefixPrompts', 'num-prefix-prompts prompt-prefix-pool-size prefix-repetition-num-prefixes'),
  ...named('turns.mean', 'session-turns-mean conversation-turn-mean'),
  ...named('turns.std', 'session-turns-stddev conversation-turn-stddev'),
  ...named('thinkTimeMs.mean', 'session-turn-delay-mean conversation-turn-delay-mean'),
  ...named('thinkTimeMs.std', 'session-turn-delay-stddev conversation-turn-delay-stddev'),
  ...named('slice.fromMs', 'fixed-schedule-start-offset'),
  ...named('slice.toMs', 'fixed-schedule-end-offset'),
};

/** Flags with the same value as one of ours. */
const files = ['input-file', 'dataset-path'];

/** Flags that name the format of a file, which tritune recognizes by content. */
const forms = ['dataset-name', 'custom-dataset-type'];

/** Unsupported flags, with the reason. */
const refused: Readonly<Record<string, string>> = {
  'public-dataset': 'nothing is fetched while measuring; download the file and give it with --prompt-file',
  'hf-name': 'nothing is fetched while measuring; download the file and give it with --prompt-file',
  'hf-subset': 'nothing is fetched while measuring; download the file and give it with --prompt-file',
  'image-width-mean': 'generated prompts are texts; give pictures with --prompt-file',
  'audio-length-mean': 'generated prompts are texts',
  burstiness: 'arrivals are evenly spaced or independent: --request-distribution poisson is burstiness 1',
  'ramp-up-strategy': '--ramp FROM:TO:SECONDS says all of it',
};

type AliasCounts = Partial<Record<Figure, number>> & { promptFile?: string };

const names = [...Object.keys(figures), ...files, ...forms, ...Object.keys(refused)];
const options = (): readonly Option[] => names.map((name) => new Option(`--${name} <value>`).hideHelp());

/** The names of other tools' options, as in the parsed options. */
export const promptAliasNames: readonly string[] = options().map((option) => option.attributeName());

/**
 * Adds other load generators' names of the prompt options, hidden from the help. Call `resolve`
 * after parsing: it returns them as tritune's options. Errors of `resolve`: USAGE, UNSUPPORTED.
 */
export function addPromptAliases(command: Command): { readonly resolve: () => PromptSpec } {
  const added = options();
  for (const option of added) command.addOption(option);
  return {
    resolve: () => {
      const options = added.filter((option) => command.getOptionValueSource(option.attributeName()) === 'cli');
      return toSpec(options.map((option) => [option.name(), String(command.getOptionValue(option.attributeName()))]));
    },
  };
}

/**
 * Returns the prompts in the flags of other tools, each with its value. Errors: USAGE, UNSUPPORTED.
 */
export function toSpec(flags: readonly (readonly [name: string, text: string])[]): PromptSpec {
  const counts: AliasCounts = {};
  for (const [name, text] of flags) {
    const reason = lookUp(refused, name);
    if (reason !== undefined)
      throw new TrituneError('UNSUPPORTED', `--${name} is not supported: ${reason}`, 'leave it out');
    const figure = lookUp(figures, name);
    if (figure) counts[figure] = parseFigure(`--${name}`, text);
    else if (files.includes(name)) counts.promptFile = text;
  }
  const { 'slice.fromMs': fromMs = 0, 'slice.toMs': toMs } = counts;
  const distributions = counted.flatMap((name) => {
    const distribution = toDistribution(counts, name);
    return distribution ? [[name, distribution] as const] : [];
  });
  return {
    ...Object.fromEntries(distributions),
    ...(counts.prompts !== undefined && { prompts: counts.prompts }),
    ...(counts.prefixTokens !== undefined && counts.prefixTokens > 0 && { prefixTokens: counts.prefixTokens }),
    ...(counts.prefixPrompts !== undefined && counts.prefixPrompts > 0 && { prefixPrompts: counts.prefixPrompts }),
    ...(counts.promptFile !== undefined && { promptFile: counts.promptFile }),
    ...((fromMs > 0 || toMs !== undefined) && {
      traceSlice: { fromS: fromMs / 1e3, toS: (toMs ?? Number.MAX_SAFE_INTEGER) / 1e3 },
    }),
  };
}

/**
 * Follows AIPerf: normal with a deviation, else constant. vLLM's ratio r is a uniform distribution
 * from mean·(1 − r) to mean·(1 + r).
 */
function toDistribution(counts: AliasCounts, name: Counted): NonNullable<PromptSpec[Counted]> | null {
  const [mean, std = 0] = [counts[`${name}.mean`], counts[`${name}.std`]];
  const ratio = name.endsWith('Tokens') ? (counts.rangeRatio ?? 0) : 0;
  if (mean === undefined) return null;
  if (std > 0) return { kind: 'normal', mean, std };
  if (ratio === 0) return { kind: 'constant', value: mean };
  return { kind: 'uniform', low: Math.max(1, Math.floor(mean * (1 - ratio))), high: Math.ceil(mean * (1 + ratio)) };
}

function parseFigure(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw usage(`${name} is not a number: '${text}'`, 'give a number of 0 or more');
}

function named(figure: Figure, names: string): Readonly<Record<string, Figure>> {
  return Object.fromEntries(names.split(' ').map((name) => [name, figure]));
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
