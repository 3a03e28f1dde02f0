import { describe, expect, it } from 'vitest';
import { LoadRefusedError } from '#triton/control/load-refused.ts';
import { classifyRefusal, isGenericRefusal } from '#triton/control/refusal.ts';

const failed = (words: string): string => `load failed for model 'm': version 1 is at UNAVAILABLE state: ${words};\n`;

describe('classifyRefusal', () => {
  it.each([
    ["failed to load 'm', failed to poll from model repository", 'invalid-config'],
    [
      failed('Invalid argument: instance group m_0 of model m has kind KIND_CPU but specifies one or more GPUs'),
      'invalid-config',
    ],
    [
      "load failed for model 'm': at least one version must be available under the version policy of model 'm'",
      'invalid-config',
    ],
    [failed('Invalid argument: instance group m_0 of model m has kind KIND_GPU but no GPUs are available'), 'no-gpu'],
    [
      failed(
        'Invalid argument: instance group m_0 of model m specifies invalid or unsupported gpu id 0. GPUs with at least the minimum required CUDA compute compatibility of 6.000000 are: ',
      ),
      'no-gpu',
    ],
    [failed('Internal: CUDA out of memory. Tried to allocate 20.00 MiB'), 'out-of-memory'],
    [failed('Internal: torch.OutOfMemoryError'), 'out-of-memory'],
    [failed('Internal: std::bad_alloc'), 'out-of-memory'],
    [failed('Internal: unable to create stream: cudaErrorMemoryAllocation'), 'out-of-memory'],
    [failed('Internal: onnx runtime error 6: Failed to allocate memory for requested buffer'), 'out-of-memory'],
    [
      failed(
        'Unavailable: can not create model m_0: memory limit set for GPU 0 has exceeded, model loading is rejected.',
      ),
      'out-of-memory',
    ],
    [failed("Invalid argument: unable to find backend library for backend 'nonsense'"), 'init-failed'],
    [failed("Internal: Stub process 'm_0_0' is not healthy."), 'init-failed'],
    [failed('Internal: no room for it'), 'init-failed'],
  ])('reads %j', (serverMessage, kind) => {
    expect(classifyRefusal(serverMessage)).toBe(kind);
  });

  it('knows the text that tells no reason', () => {
    expect(isGenericRefusal("failed to load 'm', failed to poll from model repository")).toBe(true);
    expect(isGenericRefusal(failed('Internal: no reason'))).toBe(false);
  });
});

describe('LoadRefusedError', () => {
  it("keeps the server's words, and says them in one line", () => {
    const words = failed('Internal: Exception: no module\n\nAt:\n  model.py(1): <module>\n');
    const error = new LoadRefusedError('m', 'init-failed', words);
    expect(error.serverMessage).toBe(words);
    expect(error.message).not.toContain('\n');
    expect(error.message).toContain('no module At: model.py(1)');
  });
});
