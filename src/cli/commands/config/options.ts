import {
  type acceleratorNames,
  batchingNames,
  type DeviceInstances,
  type ServedVersions,
} from '../../../space/edits/edit-config.ts';
import type { HeaderSpec, ProtectSpec, Protocol, TlsSpec } from '../../../spec/server-spec.ts';
import type { TensorConfig } from '../../../triton/config/model-config.ts';
import { headerOptionTable } from '../../options/headers.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { durationSeconds, wholeNumber } from '../../options/option-values.ts';
import { protectOptionTable } from '../../options/protect.ts';
import { tlsOptionTable } from '../../options/tls.ts';
import { batchSizes, byteCount, deviceInstances, microseconds, servedVersions, tensor } from './values.ts';

/** The options of `tritune config`, parsed. */
export interface ConfigOptions extends TlsSpec, HeaderSpec, ProtectSpec {
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

export const configOptionTable: OptionTable<ConfigOptions> = {
  from: { flags: '--from <file>', help: 'start from this config.pbtxt' },
  model: {
    flags: '-m, --model <name>',
    help: 'the model: its config on the server is the start, unless it is given here',
  },
  url: {
    flags: '-u, --url <host:port>',
    help: 'the server (default: localhost:8001 for grpc, localhost:8000 for http)',
  },
  protocol: {
    flags: '-i, --protocol <protocol>',
    help: 'how to talk to it',
    choices: ['grpc', 'http'],
    default: 'grpc',
  },
  ...tlsOptionTable,
  ...headerOptionTable,
  backend: { flags: '--backend <name>', help: 'start from nothing: a model of this backend' },
  platform: { flags: '--platform <name>', help: 'start from nothing: a model of this platform, such as tensorrt_plan' },
  inputs: {
    flags: '--inputs <name:type:dims>',
    help: 'an input of a new config, for example image:FP32:3,224,224 (without the batch dimension); repeatable',
    parse: tensor,
  },
  outputs: { flags: '--outputs <name:type:dims>', help: 'an output of a new config; repeatable', parse: tensor },
  backendAccelerator: {
    flags: '--backend-accelerator <name>',
    help: 'what executes the model inside its backend (trt is tensorrt); none takes out what is there',
    choices: ['none', 'tensorrt', 'trt', 'amp', 'openvino'],
  },
  tensorrtPrecision: {
    flags: '--tensorrt-precision <precision>',
    help: 'of the tensorrt accelerator',
    choices: ['FP32', 'FP16', 'INT8'],
  },
  tensorrtMaxWorkspaceSize: {
    flags: '--tensorrt-max-workspace-size <bytes>',
    help: 'memory for building engines of the tensorrt accelerator: bytes, 512MiB, 4GiB',
    parse: byteCount,
  },
  modelPath: {
    flags: '--model-path <path>',
    help: "the model's file, or the folder of a model or of one of its versions: which file and which version are served",
  },
  modelVersion: {
    flags: '--model-version <versions>',
    help: 'which versions are served: 3, or 1,3, latest, latest:2, all',
    parse: servedVersions,
  },
  cudaGraphs: {
    flags: '--cuda-graphs <on|off>',
    help: 'capture executions as CUDA graphs (read by the TensorRT backend)',
    choices: ['on', 'off'],
  },
  maxBatchSize: { flags: '--max-batch-size <n>', help: 'largest batch of one execution', parse: wholeNumber },
  batching: {
    flags: '--batching <how>',
    help: 'disabled: no batch dimension; static: batches as clients send them; dynamic: the server makes them',
    choices: batchingNames,
  },
  preferredBatchSizes: {
    flags: '--preferred-batch-sizes <n,n,…>',
    help: 'batches that are sent on without waiting for the delay; means --batching dynamic',
    parse: batchSizes,
  },
  maxQueueDelay: {
    flags: '--max-queue-delay <duration>',
    help: 'how long a request may wait for others: 500us, 2ms, or microseconds; means --batching dynamic',
    parse: microseconds,
  },
  instances: {
    flags: '--instances <device=n>',
    help: 'instances: gpu=2 on each GPU, 0:1 on GPU 0, cpu=4; repeatable; takes the place of those that are there',
    parse: deviceInstances,
  },
  ...protectOptionTable,
  load: { flags: '--load', help: 'load the model with it on the server, through model control', default: false },
  loadTimeout: {
    flags: '--load-timeout <duration>',
    help: 'how long that may take: 90s, 10m …',
    parse: durationSeconds,
    default: 600,
  },
  output: { flags: '-o, --output <file>', help: 'write it there (default: print it)' },
  force: { flags: '--force', help: 'also over a file that is there', default: false },
  verbose: { flags: '--verbose', help: 'stack traces with errors', default: false },
};
