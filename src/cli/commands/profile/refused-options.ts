import type { Option } from 'commander';
import type { ServiceKind } from '#app/profile/service.ts';
import { TrituneError } from '#base/errors.ts';
import { isTextEndpoint } from '#spec/language-spec.ts';
import { endpointOptionTable } from './endpoint-options.ts';
import { honouredByHttp, plainHttpOptionTable } from './http-options.ts';
import { promptAliasNames } from './prompt-aliases.ts';
import { promptOptionTable } from './prompt-options.ts';

/** Options of a tensor model, or of plain HTTP, that do not apply to a language model. */
const notOfLanguage: ReadonlySet<string> = new Set([
  ...Object.keys(plainHttpOptionTable),
  ...[
    'batch',
    'batchSize',
    'shape',
    'integers',
    'stringData',
    'stringLength',
    'maxInputSize',
    'outputTolerance',
    'requestParameter',
  ],
  ...['sequenceLength', 'sequenceLengthVariation', 'sequenceIds', 'fixedSchedule', 'scenario', 'batchSizes'],
  ...['concurrencies', 'output', 'label', 'compression', 'tensorFormat', 'sharedMemory'],
  ...['outputSharedMemorySize', 'launch', 'modelRepository', 'tritonserver', 'dockerImage', 'dockerGpus', 'dockerArg'],
  ...['serverArg', 'serverCpus', 'blsComposingModels', 'traceLevel', 'traceRate', 'traceCount'],
  ...['logFrequency', 'zeroInput', 'dataDirectory', 'inputTensorFormat', 'outputTensorFormat', 'sequenceIdRange'],
  ...['numOfSequences', 'serialSequences', 'grpcCompressionAlgorithm'],
]);

const ofLanguage: ReadonlySet<string> = new Set([
  ...Object.keys(endpointOptionTable),
  ...Object.keys(promptOptionTable),
  ...promptAliasNames,
]);

const honours: Readonly<Record<ServiceKind, (name: string) => boolean>> = {
  triton: (name) => !Object.hasOwn(plainHttpOptionTable, name) && !ofLanguage.has(name),
  http: (name) => honouredByHttp.has(name),
  language: (name) => !notOfLanguage.has(name),
};

/**
 * Refuses options that this kind of service would silently ignore. `options`: the options on the
 * command line. Errors: USAGE.
 */
export function refuseOthers(kind: ServiceKind, options: readonly Option[], endpoint?: string): void {
  const isOfTexts = (name: string): boolean =>
    isTextEndpoint(endpoint) && (ofLanguage.has(name) || ['model', 'batch', 'inputData'].includes(name));
  const isHonoured = (name: string): boolean => honours[kind](name) || isOfTexts(name);
  const other = options.find((option) => !isHonoured(option.attributeName()));
  if (!other) return;
  if (kind === 'http') {
    throw usage(`${other.long} does not apply to plain HTTP`, 'leave it out; docs/plain-http.md lists the options');
  }
  if (kind === 'language') throw usage(`${other.long} does not apply to a language model`, 'leave it out');
  throw ofLanguage.has(other.attributeName())
    ? usage(`${other.long} is for language models`, 'add --endpoint openai, or leave it out')
    : usage(`${other.long} is for plain HTTP`, 'add --service-kind http, or leave it out');
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
