import { describe, expect, it } from 'vitest';
import { buildCandidate } from '#space/candidate.ts';
import { listDifferences } from '#space/differences.ts';
import { launchedCandidate, withEngineSettings } from '#space/engine-candidate.ts';
import { spaceSize } from '#space/enumerate.ts';
import { toOriginal } from '#space/model-configs.ts';
import { mostPlaces } from '#space/most-places.ts';
import { loadInlineSpace, loadSpace, spaceFromJson, spaceToJson } from '#space/source/load.ts';
import { presetForCommand } from '#space/source/presets.ts';
import type { Assignment, Candidate, SearchSpace } from '#space/types.ts';

function built(space: SearchSpace, base: Candidate, assignment: Assignment): Candidate {
  const outcome = buildCandidate(space, base, assignment);
  if (!outcome.legal) throw new Error(outcome.reason);
  return outcome.candidate;
}
const reasonOf = (space: SearchSpace, base: Candidate, assignment: Assignment): string => {
  const outcome = buildCandidate(space, base, assignment);
  return outcome.legal ? '' : outcome.reason;
};

describe('presets of engines', () => {
  it.each([
    ['vllm serve Qwen/Qwen3-8B --port {port}', 'engines/vllm'],
    ['docker run image /opt/bin/vllm serve m', 'engines/vllm'],
    ['python -m vllm.entrypoints.openai.api_server', 'engines/vllm'],
    ['python3 -m sglang.launch_server --model-path m', 'engines/sglang'],
    ['trtllm-serve m --port {port}', 'engines/tensorrt-llm'],
    ['llama-server -m m.gguf', 'engines/llama-cpp'],
    ['./serve m', undefined],
  ])('are found by the command %s', (command, preset) => expect(presetForCommand(command)).toBe(preset));

  it.each([
    ['vllm', { max_num_seqs: 1024, max_num_batched_tokens: 512 }, /max_num_batched_tokens to be max_num_seqs/],
    ['vllm', { enable_chunked_prefill: false, max_num_batched_tokens: 2048 }, /max_model_len at least/],
    ['sglang', { schedule_policy: 'lpm', disable_radix_cache: true }, /radix cache/],
    ['llama-cpp', { ubatch_size: 512, batch_size: 256 }, /ubatch_size is above/],
    ['llama-cpp', { cache_type_v: 'q8_0', flash_attn: 'off' }, /flash attention/],
    ['tensorrt-llm', { max_batch_size: 2048, max_num_tokens: 1024 }, /max_num_tokens does not hold/],
  ] as const)('of %s knows that %o is not legal', (name, assignment, reason) => {
    const base = launchedCandidate({ engine: { max_model_len: 4096 } });
    expect(reasonOf(loadSpace(`engines/${name}`), base, assignment)).toMatch(reason);
  });

  it.each(['vllm', 'sglang', 'llama-cpp', 'tensorrt-llm'])(
    'of %s spreads a model over GPUs, or cores, only where they are',
    (name) => {
      const base = launchedCandidate({});
      const one = spaceSize(loadSpace(`engines/${name}`), base);
      const more = spaceSize(loadSpace(`engines/${name}`, { limits: { gpus: 2, cores: 2 } }), base);
      expect(more).toBeGreaterThan(one);
    },
  );

  it('say how the engine forms its steps, by settings, the command, or what the engine has else', () => {
    const vllm = loadSpace('engines/vllm');
    const base = launchedCandidate({ engine: { max_num_seqs: 32 } });
    expect(built(vllm, base, { enable_prefix_caching: false }).shape).toMatchObject({
      scheduling: 'continuous',
      continuous: {
        maxSequences: 32,
        maxStepTokens: 2048,
        chunksPrefill: true,
        cachesPrefixes: false,
        kvCacheTokens: null,
      },
    });
    const llama = loadSpace('engines/llama-cpp');
    const { shape } = built(llama, launchedCandidate({ engine: { ctx_size: 4096 } }), { parallel: 8, batch_size: 512 });
    expect(shape.continuous).toEqual({
      maxSequences: 8,
      maxStepTokens: 512,
      chunksPrefill: true,
      kvCacheTokens: 4096,
      cachesPrefixes: true,
    });
    expect(mostPlaces(llama, base)).toBe(32);
  });

  it('say how many GPUs the engine is spread over, which is a setting of its own too', () => {
    const vllm = loadSpace('engines/vllm', { limits: { gpus: 8 } });
    const base = launchedCandidate({ engine: { tensor_parallel_size: 2 } });
    expect(built(vllm, base, { max_num_seqs: 64 }).shape.parallelGpus).toBe(2);
    const { shape } = built(vllm, base, { tensor_parallel_size: 2, pipeline_parallel_size: 2, data_parallel_size: 2 });
    expect(shape.parallelGpus).toBe(8);
    expect(shape.settings).toMatchObject({ '.tensor_parallel_size': '2', '.pipeline_parallel_size': '2' });
    expect(reasonOf(vllm, base, { tensor_parallel_size: 8, data_parallel_size: 2 })).toMatch(/fewer GPUs/);
    expect(
      built(loadSpace('engines/sglang'), launchedCandidate({ engine: { tp_size: 4 } }), { schedule_policy: 'fcfs' })
        .shape.parallelGpus,
    ).toBe(4);
  });

  it('take a setting that the engine has anyway for no change, unless it depends on the machine or the command says another', () => {
    const vllm = loadSpace('engines/vllm');
    const base = launchedCandidate({});
    const fingerprint = (assignment: Assignment, of = base) => built(vllm, of, assignment).fingerprint;
    expect(fingerprint({ kv_cache_dtype: 'auto', enable_prefix_caching: true })).toBe(base.fingerprint);
    expect(fingerprint({ kv_cache_dtype: 'fp8', enable_prefix_caching: true })).toBe(
      fingerprint({ kv_cache_dtype: 'fp8' }),
    );
    expect(fingerprint({ max_num_seqs: 256 })).not.toBe(base.fingerprint);
    const fp8 = launchedCandidate({ engine: { kv_cache_dtype: 'fp8' } });
    expect(fingerprint({ kv_cache_dtype: 'auto' }, fp8)).not.toBe(fp8.fingerprint);
    expect(built(vllm, fp8, { kv_cache_dtype: 'auto' }).value.engineSettings).toEqual({
      engine: { kv_cache_dtype: 'auto' },
    });
  });

  it('leave out of the categorical settings what the policy says', () => {
    const vllm = loadSpace('engines/vllm');
    const base = launchedCandidate({});
    const settings = (assignment: Assignment) => built(vllm, base, assignment).shape.settings;
    expect(settings({ max_num_seqs: 16 })).toEqual(settings({ max_num_seqs: 64 }));
    expect(settings({ kv_cache_dtype: 'fp8' })).not.toEqual(settings({ kv_cache_dtype: 'auto' }));
  });

  it('come back from the journal as they were', () => {
    const space = loadSpace('engines/vllm');
    const again = spaceFromJson(spaceToJson(space));
    expect(again.engine).toEqual(space.engine);
    expect(again.law).toEqual(space.law);
  });

  it('refuse a law that reads what there is not', () => {
    const file = { extends: 'engines/vllm', law: { maxSequences: 'max_num_sequences' } };
    expect(() => loadInlineSpace(file, 'mine')).toThrow(/law.maxSequences.*max_num_sequences/);
  });
});

describe('the settings of an engine in Triton', () => {
  const space = loadInlineSpace({ extends: 'engines/vllm', parameters: { max_num_seqs: [4, 8] } }, 'mine');
  const config = { name: 'llm', backend: 'vllm' };
  const base = withEngineSettings(toOriginal(config), { engine: { model: 'm', max_num_seqs: 4 } });

  it('go with the load call as model.json, and are named by a mark in the config', () => {
    const candidate = built(space, base, { max_num_seqs: 8 });
    const { files } = candidate.value.artifact as { files: Record<string, { text: string }> };
    expect(JSON.parse(files['1/model.json']?.text ?? '')).toEqual({ model: 'm', max_num_seqs: 8 });
    expect(candidate.value.models).toMatchObject({
      llm: {
        backend: 'vllm',
        parameters: { tritune_variant: { string_value: expect.stringMatching(/^engine [0-9a-f]{12}$/) } },
      },
    });
    expect(listDifferences(base, candidate)).toEqual([{ path: 'max_num_seqs', before: 4, after: 8 }]);
    expect(candidate.shape.continuous?.maxSequences).toBe(8);
  });

  it('need no upload where they are those that are served', () => {
    const candidate = built(space, base, { max_num_seqs: 4 });
    expect(candidate.value.artifact).toBeUndefined();
    expect(candidate.fingerprint).toBe(base.fingerprint);
  });

  it('take the files of a variant along', () => {
    const files = { '1/extra.json': { path: '/x', sha256: 'a'.repeat(64), bytes: 1 } };
    const withFiles = loadInlineSpace({ extends: 'engines/vllm', variants: { served: { files } } }, 'mine');
    const candidate = built(withFiles, base, { variant: 'served', max_num_seqs: 16 });
    expect(Object.keys((candidate.value.artifact as { files: object }).files)).toEqual([
      '1/extra.json',
      '1/model.json',
    ]);
  });
});
