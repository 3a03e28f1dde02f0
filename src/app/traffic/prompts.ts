import { type Distribution, distributionText } from '#base/distribution.ts';
import { TrituneError } from '#base/errors.ts';
import { formatFigure } from '#base/format.ts';
import { readPromptFile } from '#loadgen/prompts/prompt-file.ts';
import { type PromptSource, promptRequests } from '#loadgen/prompts/prompt-source.ts';
import { syntheticPrompts } from '#loadgen/prompts/synthetic.ts';
import { estimate, openTokenizer, type Tokenizer } from '#loadgen/prompts/tokenizer.ts';
import type { RequestSet } from '#loadgen/types.ts';
import type { PromptSpec } from '#workload/prompt-spec.ts';
import type { RequestSpec } from '#workload/request-spec.ts';
import { replayed, type TimedRequests } from './schedule.ts';

/** The prompts for a language model. */
export interface PromptTraffic {
  /**
   * Requests, each with its `prompt`. Conversations of several turns are streams, which the sender
   * plays turn by turn.
   */
  readonly requests: RequestSet;
  /**
   * When the requests of a trace are due; null if unknown. A load level from the user takes
   * precedence.
   */
  readonly schedule: TimedRequests | null;
  /** How `inputTokens` of the prompts were counted. */
  readonly countedBy: 'tokenizer' | 'estimate';
  /** A description of the prompts, in lines for the head of a document. */
  readonly notes: readonly string[];
}

/** What generating prompts needs besides their spec. */
export interface PromptSetting {
  readonly model: string;
  readonly seed: number;
  /** The factor by which a trace is sped up; 1 by default. */
  readonly traceSpeed?: number;
}

const constant = (value: number): Distribution => ({ kind: 'constant', value });
const USUAL_INPUT = constant(512);
const USUAL_OUTPUT = constant(128);
const USUAL_PROMPTS = 1000;

/** Options for generated prompts. */
const madeUp = {
  inputTokens: '--input-tokens',
  prefixPrompts: '--prefix-prompts',
  prefixTokens: '--prefix-tokens',
  turns: '--turns',
} as const;

/** Prompts, or a file of them by the option that perf_analyzer and GenAI-Perf have for it. */
export type PromptOrder = PromptSpec & Pick<RequestSpec, 'inputData'>;

/**
 * Makes or reads the prompts that the options ask for. Errors: USAGE; INPUT_INVALID for a file,
 * with the line.
 */
export async function preparePrompts(
  { inputData, ...prompts }: PromptOrder,
  setting: PromptSetting,
): Promise<PromptTraffic> {
  const spec = { ...prompts, promptFile: prompts.promptFile ?? findPromptFile(inputData) };
  checkOneSource(spec);
  const tokenizer = spec.tokenizer === undefined ? estimate : await openTokenizer(spec.tokenizer);
  const { promptFile } = spec;
  const source =
    promptFile === undefined
      ? synthetic(spec, setting, tokenizer)
      : await readPromptFile(promptFile, toFileRule(spec, setting), tokenizer);
  const requests = promptRequests(source, setting.model);
  return {
    requests,
    schedule: source.arrivalsNs && replayed(source.arrivalsNs, setting.traceSpeed ?? 1),
    countedBy: tokenizer.path === null ? 'estimate' : 'tokenizer',
    notes: [...source.notes, lengthsNote(requests, tokenizer)],
  };
}

/** Errors: USAGE for data that are no prompts. */
function findPromptFile(inputData: RequestSpec['inputData'] = ['random']): string | undefined {
  const [file, ...others] = inputData;
  if (file === 'random' && others.length === 0) return undefined;
  if (file !== undefined && file !== 'zero' && others.length === 0) return file;
  throw usage('--input-data of a language model is one file of prompts', 'give its path, or leave it out');
}

function checkOneSource({ promptFile, ...spec }: PromptSpec): void {
  if (promptFile === undefined) {
    if (spec.traceSlice) throw usage('--trace-slice needs a trace', 'add --prompt-file TRACE');
    if (spec.prefixPrompts !== undefined && spec.prefixTokens === undefined) {
      throw usage('--prefix-prompts needs a prefix length', 'add --prefix-tokens N');
    }
    if ((spec.sessions || spec.thinkTimeMs) && !spec.turns) {
      throw usage('generated conversations need a number of turns', 'add --turns N, or --prompt-file FILE');
    }
    return;
  }
  const option = (Object.keys(madeUp) as (keyof typeof madeUp)[]).find((key) => spec[key] !== undefined);
  if (option) throw usage(`${madeUp[option]} cannot be used with --prompt-file`, 'leave one of them out');
  if (spec.thinkTimeMs && !spec.sessions) throw usage('--think-time-ms needs conversations', 'add --sessions');
}

function synthetic(spec: PromptSpec, { seed }: PromptSetting, tokenizer: Tokenizer): PromptSource {
  const { inputTokens = USUAL_INPUT, outputTokens = USUAL_OUTPUT, prompts = USUAL_PROMPTS, prefixTokens } = spec;
  const { turns = constant(1), thinkTimeMs = constant(0), ignoreEos: ignoresEnd = true } = spec;
  const prefixes = prefixTokens === undefined ? 0 : (spec.prefixPrompts ?? 1);
  const rule = { inputTokens, outputTokens, prompts, turns, thinkMs: thinkTimeMs, prefixes, ignoresEnd, seed };
  const shared = prefixes > 0 ? `, behind ${prefixes} shared prefixes of ${prefixTokens}` : '';
  const source = syntheticPrompts({ ...rule, prefixTokens: prefixTokens ?? 0 }, tokenizer);
  const lengths = `${distributionText(inputTokens)} tokens in, ${distributionText(outputTokens)} out`;
  return { ...source, notes: [`${prompts} made-up prompts, ${lengths}${shared}, seed ${seed}`, ...source.notes] };
}

const toFileRule = (spec: PromptSpec, { seed }: PromptSetting) => ({
  outputTokens: spec.outputTokens ?? null,
  prompts: spec.prompts ?? null,
  sessions: spec.sessions ?? false,
  thinkMs: spec.thinkTimeMs ?? null,
  slice: spec.traceSlice ?? null,
  ignoresEnd: spec.ignoreEos ?? null,
  seed,
});

function lengthsNote({ requests }: RequestSet, { path }: Tokenizer): string {
  const mean = (of: (prompt: NonNullable<RequestSet['requests'][number]['prompt']>) => number | null): string => {
    const known = requests.flatMap(({ prompt }) => (prompt && of(prompt)) ?? []);
    if (known.length === 0) return 'as many as the server likes';
    return formatFigure(known.reduce((sum, tokens) => sum + tokens, 0) / known.length);
  };
  const by = path === null ? 'an estimate (--tokenizer counts exactly)' : path;
  const lengths = `${mean(({ inputTokens }) => inputTokens)} tokens in and ${mean(({ maxTokens }) => maxTokens)} out`;
  return `${requests.length} requests of ${lengths} on average, counted by ${by}`;
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
