import {
  type acceleratorNames,
  batchingNames,
  type DeviceInstances,
  type ServedVersions,
  warmUpNames,
} from '#space/edits/edit-config.ts';
import type { HeaderSpec, ProtectSpec, Protocol, RestoreFirstSpec, TlsSpec } from '#spec/server-spec.ts';
import type { TensorConfig } from '#triton/config/model-config.ts';
import { headerOptionTable } from '../options/headers.ts';
import { type OptionTable, under } from '../options/option-table.ts';
import { durationSeconds, wholeNumber } from '../options/option-values.ts';
import { protectOptionTable, restoreFirstOptionTable } from '../options/protect.ts';
import { tlsOptionTable } from '../options/tls.ts';
import {
  batchSizes,
  byteCount,
  deviceInstances,
  microseconds,
  onOrOff,
  PRECISIONS,
  platformOfFormat,
  precision,
  servedVersions,
  tensor,
} from './config-values.ts';

/** The options of `tritune config`, parsed. */
export interface ConfigOptions extends TlsSpec, HeaderSpec, ProtectSpec, RestoreFirstSpec {
  readonly from?: string;
  readonly model?: string;
  readonly url?: string;
  readonly protocol: Protocol;
  readonly backend?: string;
  readonly platform?: string;
  readonly inputs?: readonly TensorConfig[];
  readonly outputs?: readonly TensorConfig[];
  readonly backendAccelerator?: (typeof acceleratorNames)[number] | 'trt';
  readonly tensorrtPrecision?: string;
  readonly tensorrtMaxWorkspaceSize?: number;
  readonly modelPath?: string;
  readonly modelVersion?: ServedVersions;
  readonly cudaGraphs?: 'on' | 'off';
  readonly warmUp?: (typeof warmUpNames)[number];
  readonly maxBatchSize?: number;
  readonly batching?: (typeof batchingNames)[number];
  readonly preferredBatchSizes?: readonly number[];
  readonly maxQueueDelay?: number;
  readonly instances?: readonly DeviceInstances[];
  readonly load: boolean;
  readonly loadTimeout: number;
  readonly output?: string;
  readonly force: boolean;
  readonly verbose: boolean;
}

export const configOptionTable: OptionTable<ConfigOptions> = under<ConfigOptions>('Model config', {
  from: { flags: '--from <file>', help: 'Start from this config.pbtxt' },
  model: {
    flags: '-m, --model <name>',
    help: 'Start from the config of this model on the server, or name the new model',
    otherName: { flags: '--model-name <name>' },
  },
  url: {
    flags: '-u, --url <host:port>',
    help: 'Address of the server (default: localhost:8001 for grpc, localhost:8000 for http)',
    heading: 'Connection',
  },
  protocol: {
    flags: '-i, --protocol <protocol>',
    help: 'Protocol of the control calls (default: the one that the port speaks)',
    heading: 'Connection',
    choices: ['grpc', 'http'],
  },
  ...tlsOptionTable,
  ...headerOptionTable,
  backend: { flags: '--backend <name>', help: 'Start a new config for this backend' },
  platform: {
    flags: '--platform <name>',
    help: 'Start a new config for this platform, such as tensorrt_plan',
    otherName: { flags: '--model-format <name>', read: platformOfFormat },
  },
  inputs: {
    flags: '--inputs <name:type:dims>',
    help: 'Input of a new config, such as image:FP32:3,224,224, without the batch dimension; repeatable',
    parse: tensor,
  },
  outputs: { flags: '--outputs <name:type:dims>', help: 'Output of a new config; repeatable', parse: tensor },
  backendAccelerator: {
    flags: '--backend-accelerator <name>',
    help: 'Accelerator inside the backend; trt is tensorrt, none removes it',
    choices: ['none', 'tensorrt', 'trt', 'amp', 'openvino'],
  },
  tensorrtPrecision: {
    flags: '--tensorrt-precision <precision>',
    help: 'Precision of the tensorrt accelerator',
    choices: PRECISIONS,
    parse: precision,
  },
  tensorrtMaxWorkspaceSize: {
    flags: '--tensorrt-max-workspace-size <bytes>',
    help: 'Memory for building engines of the tensorrt accelerator, such as 512MiB or 4GiB, in bytes without a unit',
    parse: byteCount,
  },
  modelPath: {
    flags: '--model-path <path>',
    help: 'File of the model, or the directory of the model or of a version, to serve',
  },
  modelVersion: {
    flags: '--model-version <versions>',
    help: 'Versions to serve: 3, 1,3, latest, latest:2 or all',
    parse: servedVersions,
  },
  cudaGraphs: {
    flags: '--cuda-graphs <on|off>',
    help: 'Use CUDA graphs, with the TensorRT backend',
    choices: ['on', 'off'],
    otherName: { flags: '--tensorrt-capture-cuda-graph <on|off>', read: onOrOff },
  },
  warmUp: {
    flags: '--warm-up <batches>',
    help: 'Have each load execute requests of zeros: one of the largest batch (max), or one of each size (each)',
    choices: warmUpNames,
  },
  maxBatchSize: { flags: '--max-batch-size <n>', help: 'Largest batch of one execution', parse: wholeNumber },
  batching: {
    flags: '--batching <how>',
    help: 'Batching: none (disabled), by clients only (static), or by the server (dynamic)',
    choices: batchingNames,
  },
  preferredBatchSizes: {
    flags: '--preferred-batch-sizes <n,n,…>',
    help: 'Batch sizes that run without waiting for the delay; implies --batching dynamic',
    parse: batchSizes,
  },
  maxQueueDelay: {
    flags: '--max-queue-delay <duration>',
    help: 'Longest wait for a larger batch, such as 500us or 2ms, in µs without a unit; implies --batching dynamic',
    parse: microseconds,
    otherName: { flags: '--max-queue-delay-us <us>' },
  },
  instances: {
    flags: '--instances <device=n>',
    help: 'Instances, replacing those of the config: gpu=2 on each GPU, 0:1 on GPU 0, cpu=4; repeatable',
    parse: deviceInstances,
    otherName: { flags: '--engine-count-per-device <device=n>' },
  },
  ...protectOptionTable,
  ...restoreFirstOptionTable,
  load: {
    flags: '--load',
    help: 'Load the model with the new config on the server',
    default: false,
    heading: 'Connection',
  },
  loadTimeout: {
    flags: '--load-timeout <duration>',
    help: 'Longest time for --load, such as 90s or 10m, in s without a unit',
    heading: 'Connection',
    parse: durationSeconds,
    default: 600,
    otherName: { flags: '--load-model-timeout-s <seconds>' },
  },
  output: { flags: '-o, --output <file>', help: 'File to write (default: print the config)', heading: 'Output' },
  force: { flags: '--force', help: 'Overwrite an existing file', default: false, heading: 'Output' },
  verbose: { flags: '--verbose', help: 'Show stack traces with errors', default: false, heading: 'Output' },
});
