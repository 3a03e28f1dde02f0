/** Why a language-model server could not start, and what that means for its settings. */
export type StartFault = 'out-of-memory' | 'invalid-config' | 'init-failed';

/** Messages of vLLM, SGLang, TensorRT-LLM, llama.cpp, PyTorch, CUDA, and of the C++ library. */
const OUT_OF_MEMORY =
  /out of memory|OutOfMemoryError|No available memory for the cache blocks|KV cache.*(larger than|needed|is not enough)|larger than the available KV cache memory|Not enough memory|cannot allocate memory|failed to allocate|bad_alloc|less than desired GPU memory utilization|insufficient memory|insufficient VRAM/i;
/**
 * Messages of Python's argparse, click, pydantic, C++ and Node parsers about a flag or value that
 * they do not accept.
 */
const INVALID =
  /unrecognized arguments?|unknown (argument|option)|invalid (argument|choice|value|option)|no such option|unexpected (argument|keyword)|validation errors? for|ERR_PARSE_ARGS|must be (greater|less|at least|at most|a multiple|one of|divisible)|is not (supported|compatible)|not supported/i;
const TELLING = /error|exception|fatal|failed|abort|assert/i;

const MAX_LETTERS = 500;
/** The patterns take time that grows with the square of a line's length. */
const LONGEST_LINE = 4096;
const LINES = 4;

/**
 * Returns why a server did not come up according to its log: the kind of fault, and its message in
 * one line.
 */
export function faultIn(log: string): { readonly kind: StartFault; readonly words: string } {
  const lines = log
    .split('\n')
    .map((line) => line.trim().slice(0, LONGEST_LINE))
    .filter((line) => line !== '');
  const memory = lines.find((line) => OUT_OF_MEMORY.test(line));
  if (memory !== undefined) return { kind: 'out-of-memory', words: shortened(memory) };
  const refusals = lines.filter((line) => INVALID.test(line));
  const invalid = refusals.findLast((line) => /error/i.test(line)) ?? refusals.at(-1);
  if (invalid !== undefined) return { kind: 'invalid-config', words: shortened(invalid) };
  const telling = lines.filter((line) => TELLING.test(line));
  const last = (telling.length > 0 ? telling : lines).slice(-LINES).join(' | ');
  return { kind: 'init-failed', words: shortened(last) };
}

const shortened = (text: string): string => (text.length > MAX_LETTERS ? `${text.slice(0, MAX_LETTERS)} …` : text);
