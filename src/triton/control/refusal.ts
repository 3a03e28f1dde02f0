import type { LoadRefusalKind } from './load-refused.ts';

/**
 * True for Triton's text for every config that it cannot parse or validate, and for a model that is
 * not in its repository. Only the server's log has the reason.
 */
export function isGenericRefusal(serverMessage: string): boolean {
  return /failed to poll from model repository/.test(serverMessage);
}

/**
 * Classifies why a load was refused, from the server's message; the first matching class wins. The
 * texts were verified on 2.51, except those of exhausted memory: these are the backends' own, and
 * the common ones of CUDA, PyTorch, ONNX Runtime and C++.
 */
export function classifyRefusal(serverMessage: string): LoadRefusalKind {
  return classes.find(([, words]) => words.test(serverMessage))?.[0] ?? 'init-failed';
}

const classes: readonly (readonly [LoadRefusalKind, RegExp])[] = [
  [
    'out-of-memory',
    /out of memory|\bOOM\b|OutOfMemory|bad_alloc|cudaErrorMemoryAllocation|CUDA_ERROR_OUT_OF_MEMORY|failed to allocate|memory limit set/i,
  ],
  ['no-gpu', /no GPUs are available|invalid or unsupported gpu id/i],
  ['invalid-config', /failed to poll from model repository|specifies one or more GPUs|under the version policy/i],
];
