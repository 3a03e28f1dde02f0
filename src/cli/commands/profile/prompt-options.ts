import { TrituneError } from '#base/errors.ts';
import type { PromptSpec } from '#workload/prompt-spec.ts';
import { distribution } from '../../options/distribution.ts';
import { type OptionTable, under } from '../../options/option-table.ts';

/**
 * The options for a language model's prompts; docs/language-models.md has the spellings of other
 * tools.
 */
export const promptOptionTable: OptionTable<PromptSpec> = under<PromptSpec>('Language models', {
  promptFile: {
    flags: '--prompt-file <file>',
    help: 'File of prompts, conversations or a trace (docs/language-models.md; default: generated prompts)',
  },
  inputTokens: {
    flags: '--input-tokens <lengths>',
    help: 'Tokens of a generated prompt: N, LOW:HIGH, normal:MEAN,STD[,MIN,MAX] or log-normal:… (default: 512)',
    parse: distribution,
  },
  outputTokens: {
    flags: '--output-tokens <lengths>',
    help: 'Tokens of a reply, written as --input-tokens (default: what the file says, or 128)',
    parse: distribution,
  },
  prompts: {
    flags: '--prompts <n>',
    help: 'Different prompts or conversations (default: 1000 generated, 10000 of a file, or the whole trace)',
  },
  prefixTokens: {
    flags: '--prefix-tokens <n>',
    help: 'Tokens of a shared prefix, in addition to --input-tokens',
  },
  prefixPrompts: {
    flags: '--prefix-prompts <n>',
    help: 'Number of different shared prefixes (default: 1)',
  },
  sessions: {
    flags: '--sessions',
    help: "Hold whole conversations, with the model's own answers (default: only the first turn of each)",
  },
  turns: {
    flags: '--turns <lengths>',
    help: 'Turns of a generated conversation, written as --input-tokens (default: 1)',
    parse: distribution,
  },
  thinkTimeMs: {
    flags: '--think-time-ms <lengths>',
    help: 'Pause before each further turn, in ms, written as --input-tokens (default: what the file says, or 0)',
    parse: distribution,
  },
  traceSlice: {
    flags: '--trace-slice <from:to>',
    help: 'Part of a trace, in seconds since its first request',
    parse: slice,
  },
  ignoreEos: {
    flags: '--ignore-eos [yes|no]',
    help: 'Ask for replies of their full length (default: yes for generated prompts and traces, no for texts of a file)',
    parse: yesOrNo,
  },
  tokenizer: {
    flags: '--tokenizer <file>',
    help: "The model's tokenizer.json or its directory, for exact token counts (default: an estimate)",
  },
});

function slice(text: string): NonNullable<PromptSpec['traceSlice']> {
  const [, from, to] = /^(\d+(?:\.\d+)?):(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  const statedSlice = { fromS: Number(from), toS: Number(to) };
  if (statedSlice.fromS < statedSlice.toS) return statedSlice;
  throw new TrituneError('USAGE', `'${text}' is not a slice of time`, 'write FROM:TO in seconds, for example 0:600');
}

function yesOrNo(text: string): boolean {
  if (text === 'yes' || text === 'no') return text === 'yes';
  throw new TrituneError('USAGE', `'${text}' is neither yes nor no`, 'write --ignore-eos, or --ignore-eos no');
}
