import type { Option } from 'commander';
import { TrituneError } from '../../../base/errors.ts';
import { endpointOptionTable } from './endpoint-options.ts';
import { honouredByHttp, plainHttpOptionTable } from './http-options.ts';

/** What is profiled: a model of tensors on a Triton, any URL, or a language model. */
export type ServiceKind = 'triton' | 'http' | 'language';

/** Returns what the options are about: whoever names an endpoint means a language model. Errors: UNSUPPORTED for another kind. */
export function serviceKindOf({
  serviceKind,
  endpoint,
}: {
  readonly serviceKind: string;
  readonly endpoint?: string;
}): ServiceKind {
  if (serviceKind === 'openai' || (endpoint !== undefined && serviceKind === 'triton')) return 'language';
  if (serviceKind === 'triton' || serviceKind === 'http') return serviceKind;
  throw new TrituneError(
    'UNSUPPORTED',
    `there is no service kind '${serviceKind}' here`,
    'use triton, openai for a language model, or http to send any request to any URL',
  );
}

/** Options of a model of tensors, or of plain HTTP, that have no meaning for a language model. */
const notOfLanguage: ReadonlySet<string> = new Set([
  ...Object.keys(plainHttpOptionTable),
  ...['batch', 'inputData', 'shape', 'integers', 'stringData', 'stringLength', 'outputTolerance', 'requestParameter'],
  ...['sequenceLength', 'sequenceLengthVariation', 'sequenceIds', 'fixedSchedule', 'scenario', 'batchSizes'],
  ...['concurrencies', 'output', 'label', 'profileExportFile', 'compression', 'tensorFormat', 'sharedMemory'],
  ...['outputSharedMemorySize', 'launch', 'modelRepository', 'tritonserver', 'dockerImage', 'dockerGpus', 'dockerArg'],
  ...['serverArg', 'serverCpus', 'blsComposingModels', 'traceLevel', 'traceRate', 'traceCount'],
  ...['logFrequency', 'zeroInput', 'dataDirectory', 'inputTensorFormat', 'outputTensorFormat', 'sequenceIdRange'],
  ...['numOfSequences', 'serialSequences', 'grpcCompressionAlgorithm'],
]);

const honours: Readonly<Record<ServiceKind, (name: string) => boolean>> = {
  triton: (name) => !Object.hasOwn(plainHttpOptionTable, name) && !Object.hasOwn(endpointOptionTable, name),
  http: (name) => honouredByHttp.has(name),
  language: (name) => !notOfLanguage.has(name),
};

/** Refuses what the kind of service would silently ignore; `given` are the options on the command line. Errors: USAGE. */
export function refuseOthers(kind: ServiceKind, given: readonly Option[]): void {
  const other = given.find((option) => !honours[kind](option.attributeName()));
  if (!other) return;
  if (kind === 'http') {
    throw usage(`${other.long} has no meaning for plain HTTP`, 'leave it out; docs/plain-http.md lists what it takes');
  }
  if (kind === 'language') throw usage(`${other.long} has no meaning for a language model`, 'leave it out');
  throw Object.hasOwn(endpointOptionTable, other.attributeName())
    ? usage(`${other.long} is about language models`, 'add --endpoint, or leave it out')
    : usage(`${other.long} is about plain HTTP`, 'add --service-kind http, or leave it out');
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
