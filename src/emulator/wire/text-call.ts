import type { InferInput, TextCall } from './infer-call.ts';

/** Text inputs of Triton's vLLM backend (`text_input`) and of hand-written models. */
const TEXT_NAMES = ['text_input', 'prompt', 'PROMPT'];
/**
 * Names of the answer's maximum length in vLLM's sampling parameters and the inputs of the
 * TensorRT-LLM backend.
 */
const LENGTH_NAMES = ['max_tokens', 'request_output_len'];

/** Values by name: inputs and the request's parameters. */
type Values = Readonly<Record<string, unknown>>;

/** Returns the request to a language model; undefined if no input is a text. */
export function toTextCall(inputs: Values, parameters: Values = {}): TextCall | undefined {
  const text = TEXT_NAMES.map((name) => inputs[name]).find((value) => typeof value === 'string');
  if (typeof text !== 'string') return undefined;
  const wish = { ...objectIn(inputs.sampling_parameters), ...objectIn(inputs.parameters), ...parameters, ...inputs };
  const numberAt = (names: readonly string[]): number | null => {
    const value = names.map((name) => Number(wish[name] ?? Number.NaN)).find(Number.isSafeInteger);
    return value ?? null;
  };
  const stops = wish.stop ?? wish.stop_words ?? [];
  return {
    texts: [text],
    maxTokens: numberAt(LENGTH_NAMES) ?? USUAL_TOKENS,
    minTokens: numberAt(['min_tokens', 'min_length']) ?? 0,
    ignoresEnd: isTrue(wish.ignore_eos),
    stops: (Array.isArray(stops) ? stops : [stops]).filter((stop) => typeof stop === 'string' && stop !== ''),
    isStream: isTrue(wish.stream) || isTrue(wish.streaming),
  };
}

/** Default number of output tokens, as in vLLM's sampling parameters. */
const USUAL_TOKENS = 16;

/** Returns the first element of each input that has one, by name, as text, number or boolean. */
export const inputValues = (
  inputs: readonly (Pick<InferInput, 'name' | 'datatype'> & { readonly raw?: Uint8Array })[],
): Values =>
  Object.fromEntries(
    inputs.flatMap(({ name, datatype, raw }) => (raw ? [[name, firstValue(datatype, raw)] as const] : [])),
  );

function firstValue(datatype: string, raw: Uint8Array): unknown {
  const view = new DataView(raw.buffer, raw.byteOffset, raw.byteLength);
  if (datatype === 'BYTES' && raw.length >= 4) {
    return Buffer.from(raw.subarray(4, 4 + view.getUint32(0, true))).toString('utf8');
  }
  if (datatype === 'BOOL' && raw.length >= 1) return view.getUint8(0) === 1;
  if (/^U?INT32$/.test(datatype) && raw.length >= 4) return view.getInt32(0, true);
  return /^U?INT64$/.test(datatype) && raw.length >= 8 ? Number(view.getBigInt64(0, true)) : undefined;
}

const isTrue = (value: unknown): boolean => value === true || value === 'true' || value === 'True';

function objectIn(value: unknown): Values {
  if (typeof value !== 'string') return value !== null && typeof value === 'object' ? (value as Values) : {};
  try {
    return objectIn(JSON.parse(value) ?? {});
  } catch {
    return {};
  }
}
