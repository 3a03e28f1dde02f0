import { describe, expect, it } from 'vitest';
import { faultIn } from '#launch/engine-log.ts';

/** Ends of logs as the engines write them, with what they mean. */
const logs = {
  'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.\nINFO cleaning up': 'out-of-memory',
  'ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization`': 'out-of-memory',
  "ValueError: To serve at least one request with the model's max seq len (131072), 16.0 GiB KV cache is needed, which is larger than the available KV cache memory":
    'out-of-memory',
  'ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 99': 'out-of-memory',
  'terminate called after throwing\n  what():  std::bad_alloc': 'out-of-memory',
  'usage: vllm serve [-h]\nvllm serve: error: unrecognized arguments: --no-such-flag': 'invalid-config',
  'error: invalid argument: --nope': 'invalid-config',
  'ValueError: max_num_batched_tokens (64) must be greater than or equal to max_num_seqs (128).': 'invalid-config',
  "api_server.py: error: argument --kv-cache-dtype: invalid choice: 'fp9'": 'invalid-config',
  'Error: No such option: --max_numtokens': 'invalid-config',
  'RuntimeError: Engine core initialization failed. See root cause above.': 'init-failed',
} as const;

describe('the log of a server that did not come up', () => {
  for (const [log, kind] of Object.entries(logs)) {
    it(`says '${kind}' by: ${log.slice(0, 60).replaceAll('\n', ' ')}`, () => expect(faultIn(log).kind).toBe(kind));
  }

  it('gives the line that tells, shortened', () => {
    const words = faultIn(
      `loading\nTypeError [X]: Unknown option '--a'\n  at foo\ncode: 'ERR_PARSE_ARGS_UNKNOWN_OPTION'\n`,
    ).words;
    expect(words).toBe("TypeError [X]: Unknown option '--a'");
    expect(faultIn(`error: ${'x'.repeat(2000)}`).words.length).toBeLessThan(520);
    expect(faultIn('').words).toBe('');
  });

  it('with a line of megabytes is read in the time that its length takes', () => {
    expect(faultIn('KV cache '.repeat(400_000)).kind).toBe('init-failed');
  });
});
