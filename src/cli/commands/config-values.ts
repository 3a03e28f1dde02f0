import { TrituneError } from '#base/errors.ts';
import type { DeviceInstances, ServedVersions } from '#space/edits/edit-config.ts';
import type { TensorConfig } from '#triton/config/model-config.ts';
import { durationSeconds, positiveWhole, wholeNumber } from '../options/option-values.ts';

/** Parsers of config option texts. Errors: USAGE, with the expected form. */

/** '500us', '2ms', '1s', or a plain number of microseconds → microseconds. */
export function microseconds(text: string): number {
  const plain = text.trim().replace(/us$/, '');
  return /^\d+$/.test(plain) ? wholeNumber(plain) : Math.round(durationSeconds(text) * 1e6);
}

/** '4,8' → [4, 8]; repeated options add up. */
export function batchSizes(text: string, previous: readonly number[] | undefined): readonly number[] {
  return [...(previous ?? []), ...text.split(/[\s,]+/).map(positiveWhole)];
}

export const PRECISIONS = ['FP32', 'FP16', 'BF16', 'INT8'] as const;

/** 'fp16' or 'FP16' → 'FP16'. */
export function precision(text: string): string {
  const name = text.trim().toUpperCase();
  if ((PRECISIONS as readonly string[]).includes(name)) return name;
  throw wrong(`'${text}' is not a precision`, `use one of ${PRECISIONS.join(', ')}`);
}

/** Model Navigator's 1 or 0 → 'on' or 'off'. */
export const onOrOff = (text: string): string => {
  const name = text.trim().toLowerCase();
  return { 1: 'on', true: 'on', 0: 'off', false: 'off' }[name] ?? name;
};

/** Model Navigator's names of formats. */
const platforms: ReadonlyMap<string, string> = new Map([
  ['onnx', 'onnxruntime_onnx'],
  ['tensorrt', 'tensorrt_plan'],
  ['trt', 'tensorrt_plan'],
  ['torchscript', 'pytorch_libtorch'],
  ['ts-script', 'pytorch_libtorch'],
  ['ts-trace', 'pytorch_libtorch'],
  ['pt2', 'torch_aoti'],
  ['tf-savedmodel', 'tensorflow_savedmodel'],
]);

/** The platform of a format, such as 'tensorrt'; any other text as it is. */
export const platformOfFormat = (text: string): string => platforms.get(text.trim().toLowerCase()) ?? text;

const byteUnits = { '': 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 } as const;

/** '4GiB', '512MiB', or a plain number of bytes → bytes. */
export function byteCount(text: string): number {
  const [, count, unit] = /^(\d+)\s*([KMG]iB)?$/.exec(text.trim()) ?? [];
  if (count === undefined)
    throw wrong(`'${text}' is not a number of bytes`, 'write for example 1073741824, 512MiB or 1GiB');
  return positiveWhole(count) * byteUnits[(unit ?? '') as keyof typeof byteUnits];
}

/** '3' or '1,3', 'latest' or 'latest:2', 'all'. */
export function servedVersions(text: string): ServedVersions {
  const latest = /^latest(?::(\d+))?$/.exec(text.trim());
  if (latest) return { latest: positiveWhole(latest[1] ?? '1') };
  return text.trim() === 'all' ? 'all' : text.split(',').map((each) => positiveWhole(each.trim()));
}

const kinds = { gpu: 'KIND_GPU', cpu: 'KIND_CPU', model: 'KIND_MODEL' } as const;

/** 'gpu=2' on each GPU, '0:1' on GPU 0, 'cpu=4', 'model=1'; repeated options add up. */
export function deviceInstances(
  text: string,
  previous: readonly DeviceInstances[] | undefined,
): readonly DeviceInstances[] {
  const match = /^(?:(gpu|cpu|model)=|(\d{1,4})[:=])(\d+)$/.exec(text.trim());
  if (!match) throw wrong(`'${text}' is not a number of instances`, 'write gpu=2, 0:1 (for GPU 0) or cpu=4');
  const [, kind, gpu, count] = match;
  const on = kind === undefined ? { kind: kinds.gpu, gpu: Number(gpu) } : { kind: toKind(kind), gpu: null };
  return [...(previous ?? []), { ...on, count: positiveWhole(count as string) }];
}

const toKind = (name: string) => kinds[name as keyof typeof kinds];

/**
 * 'NAME:TYPE:DIMS' such as 'image:FP32:3,224,224', without the batch dimension; repeated options
 * add up.
 */
export function tensor(text: string, previous: readonly TensorConfig[] | undefined): readonly TensorConfig[] {
  const match = /^(.+):(?:TYPE_)?([A-Z]+\d*):(-?\d+(?:,-?\d+)*)$/.exec(text.trim());
  if (!match) throw wrong(`'${text}' is not a tensor`, 'write NAME:TYPE:DIMS, for example image:FP32:3,224,224');
  const [, name, type, dims] = match as unknown as [string, string, string, string];
  const data_type = `TYPE_${type === 'BYTES' ? 'STRING' : type}`;
  return [...(previous ?? []), { name, data_type, dims: dims.split(',').map(Number) }];
}

const wrong = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
