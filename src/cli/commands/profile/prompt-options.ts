import { TrituneError } from '../../../base/errors.ts';
import type { PromptSpec } from '../../../workload/prompt-spec.ts';
import { distribution } from '../../options/distribution.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { positiveWhole } from '../../options/option-values.ts';

/** The options about what a language model is asked; docs/language-models.md has the spellings of other tools. */
export const promptOptionTable: OptionTable<PromptSpec> = {
  promptFile: {
    flags: '--prompt-file <file>',
    help: 'prompts, conversations or a trace, in any form that docs/language-models.md lists (default: prompts are made up)',
  },
  inputTokens: {
    flags: '--input-tokens <lengths>',
    help: 'tokens of a made-up prompt: N, LOW:HIGH, normal:MEAN,STD[,MIN,MAX] or log-normal:… (default: 512)',
    parse: distribution,
  },
  outputTokens: {
    flags: '--output-tokens <lengths>',
    help: 'tokens of a reply, where a file does not say (default: 128 for made-up prompts)',
    parse: distribution,
  },
  prompts: {
    flags: '--prompts <n>',
    help: 'prompts or conversations that differ (default: 1000; 10000 of a file, chosen at random, or the whole trace)',
    parse: positiveWhole,
  },
  prefixTokens: {
    flags: '--prefix-tokens <n>',
    help: 'tokens that made-up prompts begin alike with, beside --input-tokens',
    parse: positiveWhole,
  },
  prefixPrompts: {
    flags: '--prefix-prompts <n>',
    help: 'how many such beginnings there are (default: 1)',
    parse: positiveWhole,
  },
  sessions: {
    flags: '--sessions',
    help: "hold conversations turn by turn, with the model's own answers (default: the first turn of each alone)",
  },
  turns: {
    flags: '--turns <lengths>',
    help: 'turns of a made-up conversation, as --input-tokens is written (default: 1)',
    parse: distribution,
  },
  thinkTimeMs: {
    flags: '--think-time-ms <lengths>',
    help: 'milliseconds before each turn but the first, as --input-tokens is written (default: what the file says, or 0)',
    parse: distribution,
  },
  traceSlice: {
    flags: '--trace-slice <from:to>',
    help: 'part of a trace, in seconds since its first request; --trace-speed says how fast it is played',
    parse: slice,
  },
  ignoreEos: {
    flags: '--ignore-eos [yes|no]',
    help: 'replies go on to their full length (default: yes for made-up prompts and traces, no for texts of a file)',
    parse: yesOrNo,
  },
  tokenizer: {
    flags: '--tokenizer <file>',
    help: "the model's tokenizer.json or its folder, for exact lengths (default: an estimate)",
  },
};

function slice(text: string): NonNullable<PromptSpec['traceSlice']> {
  const [, from, to] = /^(\d+(?:\.\d+)?):(\d+(?:\.\d+)?)$/.exec(text) ?? [];
  const given = { fromS: Number(from), toS: Number(to) };
  if (given.fromS < given.toS) return given;
  throw new TrituneError('USAGE', `'${text}' is no slice of time`, 'write FROM:TO in seconds, for example 0:600');
}

function yesOrNo(text: string): boolean {
  if (text === 'yes' || text === 'no') return text === 'yes';
  throw new TrituneError('USAGE', `'${text}' is neither yes nor no`, 'write --ignore-eos, or --ignore-eos no');
}
