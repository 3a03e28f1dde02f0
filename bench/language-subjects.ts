import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { shellLine } from '#base/shell-words.ts';
import { dynamoPackages, nodeLlama, smolModel } from '../test/support/language/packages.ts';
import { languageRepository } from '../test/support/language/triton-language.ts';
import { realTriton, startRealTriton } from '../test/support/real-triton.ts';

/** A real language model with 24 candidates, and a goal that rules some of them out. */
export interface LanguageSubject {
  readonly name: string;
  /**
   * Options of `tune` about the server, the space, the goal and the traffic. `close` ends what was
   * started for them.
   */
  open(): Promise<{ readonly options: readonly string[]; close(): Promise<void> }>;
}

/** Always four users: the candidates differ in how long they wait. */
const asked = [
  ...['-m', 'smollm2', '--concurrency', '4:4', '--input-tokens', '24', '--output-tokens', '6', '--prompts', '64'],
  ...['--precision', '10', '--objective', 'output-token-throughput'],
];
/**
 * For a machine that does nothing else: two threads of llama.cpp wait for each other at every
 * layer, and for whoever else runs.
 */
const limits = ['--constraint', 'ttft<=700ms', '--constraint', 'itl<=400ms'];

async function spaceFile(text: string): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'tritune-bench-language-')), 'space.yaml');
  await writeFile(file, text);
  return file;
}

const openai: LanguageSubject = {
  name: 'openai',
  open: async () => {
    const [library, model] = [await nodeLlama(), await smolModel()];
    const script = resolve(import.meta.dirname, '../test/support/language/llama-server.ts');
    const server = [process.execPath, script, '--library', library, '--model', model, '--ctx-size', '1024'];
    const space = await spaceFile(`extends: engines/llama-cpp
drop: [ubatch_size, flash_attn, cache_type_k, cache_type_v, speculative, ubatch-fits-batch, values-need-flash-attention]
limits: { cores: 2 }
parameters:
  parallel: [1, 2, 4]
  batch_size: [32, 64, 128, 256]
  threads: [1, 2]
`);
    const launch = `${shellLine(server)} --parallel 1 --port {port} {flags}`;
    const options = ['--endpoint', 'openai', '--launch-command', launch, '--space', space, ...asked, ...limits];
    return { options, close: async () => undefined };
  },
};

const triton: LanguageSubject = {
  name: 'triton',
  open: async () => {
    const { repository, serverArgs } = await languageRepository({ max_num_seqs: 1, max_num_batched_tokens: 256 });
    const server = await startRealTriton(repository, { loadModels: ['smollm2'], extraArgs: serverArgs });
    const space = await spaceFile(`extends: engines/vllm
drop: [enable_prefix_caching, gpu_memory_utilization, kv_cache_dtype, speculative, enable_chunked_prefill, step-holds-prompt]
parameters:
  max_num_seqs: [1, 2, 4]
  max_num_batched_tokens: [32, 64, 128, 256]
  threads: [1, 2]
`);
    const where = ['--endpoint', 'triton-grpc', '-u', server.grpcUrl, '--metrics-url', server.metricsUrl];
    const settings = ['--engine-settings', join(repository, 'smollm2', '1', 'model.json'), '--space', space];
    return { options: [...where, ...settings, ...asked, ...limits], close: () => server.stop() };
  },
};

/** A third-party scheduler, whose steps take the time that a GPU would. */
const dynamo: LanguageSubject = {
  name: 'dynamo',
  open: async () => {
    const [packages, { binDirectory }] = [await dynamoPackages(), await realTriton()];
    const script = resolve(import.meta.dirname, '../test/support/language/dynamo_server.py');
    const server = [join(binDirectory, 'python'), script, '--packages', packages, '--num-gpu-blocks-override', '1024'];
    const space = await spaceFile(`extends: engines/vllm
drop: [gpu_memory_utilization, kv_cache_dtype, speculative, enable_prefix_caching, step-holds-prompt]
parameters:
  max_num_seqs: [4, 8, 16, 32, 64]
  max_num_batched_tokens: [128, 512, 2048]
  enable_chunked_prefill: [true, false]
rules:
  - name: step-holds-these-prompts
    when: { enable_chunked_prefill: false }
    require: config.engine.max_num_batched_tokens >= 256
    message: a prompt of 256 tokens must fit into a step
`);
    const launch = `${shellLine(server)} --max-num-seqs 4 --port {port} {flags}`;
    const traffic = ['--concurrency', '32:32', '--input-tokens', '256', '--output-tokens', '32', '--prompts', '512'];
    const goal = ['--objective', 'output-token-throughput', '--constraint', 'ttft<=400ms', '--constraint', 'itl<=60ms'];
    const options = ['-m', 'mock', '--endpoint', 'openai', '--launch-command', launch, '--space', space];
    return { options: [...options, ...traffic, ...goal, '--precision', '10'], close: async () => undefined };
  },
};

export const languageSubjects: readonly LanguageSubject[] = [openai, triton, dynamo];
