import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shellLine } from '#base/shell-words.ts';
import type { LaunchedServer } from '#launch/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { runCli, startCli, untilRecorded } from '../support/cli.ts';
import { dynamoPackages, nodeLlama, smolModel } from '../support/language/packages.ts';
import { languageRepository } from '../support/language/triton-language.ts';
import { realTriton, startRealTriton } from '../support/real-triton.ts';
import { failuresIn, freshDirectory, recordsOf, summaryOf } from '../support/run-directory.ts';

/** Short replies, and few of them: a token takes some 20 ms here. */
const traffic = [
  ...['--input-tokens', '8', '--output-tokens', '4', '--prompts', '16', '--concurrency', '2:2', '--precision', '50'],
  ...['--objective', 'output-token-throughput', '--ui', 'lines', '--max-trials', '1', '--sampler', 'grid'],
];

describe("a language model in the real Triton, in a Python-based backend that reads model.json as vLLM's does", () => {
  let server: LaunchedServer;
  let client: TritonClient;
  let original: ModelConfig;
  let asked: readonly string[];
  let modelJson: string;

  beforeAll(async () => {
    const { repository, serverArgs } = await languageRepository({ max_num_seqs: 1 });
    modelJson = join(repository, 'smollm2', '1', 'model.json');
    server = await startRealTriton(repository, { loadModels: ['smollm2'], extraArgs: serverArgs });
    client = connectGrpc(server.grpcUrl);
    original = await client.modelConfig('smollm2');
    const space = join(await freshDirectory(), 'space.yaml');
    await writeFile(
      space,
      `extends: engines/vllm
drop: [max_num_batched_tokens, enable_chunked_prefill, enable_prefix_caching, gpu_memory_utilization, kv_cache_dtype, speculative, step-holds-prompt]
parameters: { max_num_seqs: [2] }
`,
    );
    asked = ['tune', '-m', 'smollm2', '--engine-settings', modelJson, '--space', space, ...traffic];
  });

  afterAll(async () => {
    await client?.close();
    await server?.stop();
  });

  /** Sequences at once, as the model says at each of its starts. */
  const starts = async (): Promise<readonly number[]> =>
    [...(await readFile(server.logFile, 'utf8')).matchAll(/serves (\d+) sequences at once/g)].map(([, n]) => Number(n));

  it('is tuned by uploads of its settings, over decoupled gRPC, and ends as it was', { timeout: 300_000 }, async () => {
    const output = await freshDirectory();
    const run = await runCli([...asked, '--endpoint', 'triton-grpc', '-u', server.grpcUrl, '-o', output]);
    expect(run.stderr).toBe('');
    expect(run.code).toBe(0);
    expect(await failuresIn(output)).toEqual([]);
    const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
    expect(measured.map(({ measurement }) => measurement.tokens?.outputTokens.mean)).toEqual(measured.map(() => 4));
    expect(await starts()).toContain(2);
    expect((await starts()).at(-1)).toBe(1);
    expect(await client.modelConfig('smollm2')).toEqual(original);
    const { best } = await summaryOf(output);
    if (Object.keys(best?.assignment ?? {}).length === 0) return;
    const emitted = JSON.parse(await readFile(join(output, 'best/smollm2/1/model.json'), 'utf8')) as object;
    expect(emitted).toEqual({ ...(JSON.parse(await readFile(modelJson, 'utf8')) as object), max_num_seqs: 2 });
  });

  it('is asked over HTTP too, and put back after a run that was killed', { timeout: 300_000 }, async () => {
    const output = await freshDirectory();
    const where = ['--endpoint', 'triton-generate', '-u', server.httpUrl, '--control-url', server.grpcUrl];
    const run = startCli([...asked, ...where, '-o', output]);
    await untilRecorded(output, run, (record) => record.type === 'trial-applied' && record.trial === 1);
    run.child.kill('SIGKILL');
    await run.ended;
    expect((await starts()).at(-1)).toBe(2);
    const restored = await runCli(['restore', output]);
    expect(restored.code).toBe(0);
    expect((await starts()).at(-1)).toBe(1);
    expect(await client.modelConfig('smollm2')).toEqual(original);
  });
});

describe('a language model behind an OpenAI server that takes its settings at its start', () => {
  it('is tuned by one start for each candidate', { timeout: 300_000 }, async () => {
    const [library, model, output] = [await nodeLlama(), await smolModel(), await freshDirectory()];
    const script = resolve(import.meta.dirname, '../support/language/llama-server.ts');
    const server = shellLine([process.execPath, script, '--library', library, '--model', model, '--ctx-size', '512']);
    const space = join(await freshDirectory(), 'space.yaml');
    await writeFile(
      space,
      `extends: engines/llama-cpp
drop: [batch_size, ubatch_size, flash_attn, cache_type_k, cache_type_v, speculative, threads, ubatch-fits-batch, values-need-flash-attention, threads-fit-cores]
parameters: { parallel: [2] }
`,
    );
    const launch = ['--launch-command', `${server} --parallel 1 --port {port} {flags}`, '--endpoint', 'openai'];
    const run = await runCli(['tune', '-m', 'smollm2', ...launch, '--space', space, ...traffic, '-o', output]);
    expect(run.stderr).toBe('');
    expect(run.code).toBe(0);
    expect(await failuresIn(output)).toEqual([]);
    const measured = (await recordsOf(output)).filter((record) => record.type === 'trial-measured');
    expect(measured[0]?.measurement.tokens).toMatchObject({ countedBy: 'usage', outputTokens: { mean: 4 } });
    expect(measured[0]?.measurement.engine?.runningSequences).toBeGreaterThan(0);
    expect(run.stdout).toMatch(/the server that was started for the run has ended\n$/);
  });
});

describe("Dynamo's mocker, whose scheduler has vLLM's knobs", () => {
  it('serves more with more sequences at once', { timeout: 300_000 }, async () => {
    const [packages, { binDirectory }, output] = [await dynamoPackages(), await realTriton(), await freshDirectory()];
    const script = resolve(import.meta.dirname, '../support/language/dynamo_server.py');
    const server = shellLine([join(binDirectory, 'python'), script, '--packages', packages]);
    const space = join(await freshDirectory(), 'space.yaml');
    await writeFile(
      space,
      `extends: engines/vllm
drop: [max_num_batched_tokens, enable_chunked_prefill, enable_prefix_caching, gpu_memory_utilization, kv_cache_dtype, speculative, step-holds-prompt]
parameters: { max_num_seqs: [16] }
`,
    );
    const launch = ['--launch-command', `${server} --max-num-seqs 2 --port {port} {flags}`, '--endpoint', 'openai'];
    const level = ['--concurrency', '16:16', '--input-tokens', '64'];
    const run = await runCli(['tune', '-m', 'mock', ...launch, '--space', space, ...traffic, ...level, '-o', output]);
    expect(run.code).toBe(0);
    const { best, gain } = await summaryOf(output);
    expect(best?.assignment).toEqual({ max_num_seqs: 16 });
    expect(gain?.ratio).toBeGreaterThan(2);
  });
});
