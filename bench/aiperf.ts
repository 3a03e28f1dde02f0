import { execFile } from 'node:child_process';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The path of AIPerf's command (`pip install aiperf==0.13.*` in its own environment), if set. */
export const AIPERF = process.env.TRITUNE_BENCH_AIPERF;

/** A byte tokenizer for AIPerf's prompts; its own one would be fetched from a network. */
const TOKENIZER = `
import sys
from tokenizers import Tokenizer, models, pre_tokenizers, decoders
from transformers import PreTrainedTokenizerFast
letters = sorted(pre_tokenizers.ByteLevel.alphabet())
tokenizer = Tokenizer(models.BPE(vocab={letter: number for number, letter in enumerate(letters)}, merges=[]))
tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
tokenizer.decoder = decoders.ByteLevel()
PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=letters[0]).save_pretrained(sys.argv[1])
`;

/** Writes the tokenizer into a directory, with AIPerf's Python. */
export async function writeTokenizer(aiperf: string, directory: string): Promise<void> {
  await run(join(dirname(aiperf), 'python'), ['-c', TOKENIZER, directory], { timeout: 120_000 });
}

/** Returns the options that every run of AIPerf needs here, without a network and a screen. */
export const aiperfOptions = (url: string, model: string, tokenizer: string, output: string): readonly string[] => [
  ...['profile', '-m', model, '-u', url, '--endpoint-type', 'chat', '--streaming', '--tokenizer', tokenizer],
  ...['--use-server-token-count', '--use-legacy-max-tokens', '--no-server-metrics', '--no-gpu-telemetry'],
  ...['--ui', 'none', '--output-artifact-dir', output],
];
