import type { TraceSpec } from '../../../app/profile/profile-spec.ts';
import { TrituneError } from '../../../base/errors.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { positiveWhole, wholeNumber } from '../../options/option-values.ts';
import { sequenceIdRange } from '../../options/sweep-values.ts';

/**
 * Options in perf_analyzer's spelling that mean the same as one of ours, or that change nothing here. docs/profile.md says
 * of each what becomes of it.
 */
export interface PerfAnalyzerFlags extends TraceSpec {
  readonly async?: boolean;
  readonly sync?: boolean;
  readonly maxThreads?: number;
  readonly numOfSequences?: number;
  readonly serialSequences?: boolean;
  readonly sequenceIdRange?: { readonly low: number; readonly high: number };
  readonly grpcCompressionAlgorithm?: 'none' | 'gzip' | 'deflate';
  readonly inputTensorFormat?: 'binary' | 'json';
  readonly outputTensorFormat?: 'binary' | 'json';
  readonly metricsInterval?: number;
  readonly blsComposingModels?: string;
  readonly sslGrpcUseSsl?: boolean;
  readonly sslGrpcRootCertificationsFile?: string;
  readonly sslGrpcPrivateKeyFile?: string;
  readonly sslGrpcCertificateChainFile?: string;
  readonly sslHttpsVerifyPeer?: number;
  readonly sslHttpsVerifyHost?: number;
  readonly sslHttpsCaCertificatesFile?: string;
  readonly sslHttpsClientCertificateFile?: string;
  readonly sslHttpsClientCertificateType?: 'PEM';
  readonly sslHttpsPrivateKeyFile?: string;
  readonly sslHttpsPrivateKeyType?: 'PEM';
  readonly startConcurrency?: number;
  readonly endConcurrency?: number;
  readonly dynamicConcurrency?: boolean;
  readonly zeroInput?: boolean;
  readonly dataDirectory?: string;
}

const same = (option: string): string => `as ${option}`;

export const perfAnalyzerOptionTable: OptionTable<PerfAnalyzerFlags> = {
  async: { flags: '-a, --async', help: 'taken and ignored: no request ever waits for another one' },
  sync: { flags: '--sync', help: 'taken and ignored' },
  maxThreads: { flags: '--max-threads <n>', help: 'taken and ignored: see --client-threads', parse: positiveWhole },
  numOfSequences: {
    flags: '--num-of-sequences <n>',
    help: 'taken and ignored: a rate has as many sequences as it needs',
    parse: positiveWhole,
  },
  serialSequences: { flags: '--serial-sequences', help: 'taken and ignored: it is always so' },
  sequenceIdRange: {
    flags: '--sequence-id-range <start:end>',
    help: same('--sequence-ids'),
    parse: sequenceIdRange,
  },
  grpcCompressionAlgorithm: {
    flags: '--grpc-compression-algorithm <coding>',
    help: same('--compression'),
    choices: ['none', 'gzip', 'deflate'],
  },
  inputTensorFormat: {
    flags: '--input-tensor-format <format>',
    help: same('--tensor-format'),
    choices: ['binary', 'json'],
  },
  outputTensorFormat: {
    flags: '--output-tensor-format <format>',
    help: 'must be the same as --input-tensor-format',
    choices: ['binary', 'json'],
  },
  metricsInterval: {
    flags: '--metrics-interval <ms>',
    help: 'taken and ignored: metrics are read every two seconds',
    parse: positiveWhole,
  },
  blsComposingModels: {
    flags: '--bls-composing-models <a:1,b>',
    help: 'models that the model calls, whose server statistics are reported too',
  },
  traceLevel: {
    flags: '--trace-level <level>',
    help: "the server's trace level during the run (OFF, TIMESTAMPS or TENSORS; the older MIN and MAX are TIMESTAMPS); its settings are put back afterwards",
    parse: traceLevel,
  },
  traceRate: {
    flags: '--trace-rate <n>',
    help: 'one of so many requests is traced (default: 1000)',
    parse: positiveWhole,
  },
  traceCount: {
    flags: '--trace-count <n>',
    help: 'traces after which the server stops; -1 is no limit (default: -1)',
    parse: countOrNone,
  },
  logFrequency: {
    flags: '--log-frequency <n>',
    help: 'traces in a file of the server; 0 is one file (default: 0)',
    parse: wholeNumber,
  },
  sslGrpcUseSsl: { flags: '--ssl-grpc-use-ssl', help: same('--tls') },
  sslGrpcRootCertificationsFile: { flags: '--ssl-grpc-root-certifications-file <file>', help: same('--tls-ca') },
  sslGrpcPrivateKeyFile: { flags: '--ssl-grpc-private-key-file <file>', help: same('--tls-key') },
  sslGrpcCertificateChainFile: { flags: '--ssl-grpc-certificate-chain-file <file>', help: same('--tls-cert') },
  sslHttpsVerifyPeer: {
    flags: '--ssl-https-verify-peer <0|1>',
    help: '0: as --tls-insecure',
    parse: wholeNumber,
  },
  sslHttpsVerifyHost: {
    flags: '--ssl-https-verify-host <0|1|2>',
    help: '0: as --tls-insecure',
    parse: wholeNumber,
  },
  sslHttpsCaCertificatesFile: { flags: '--ssl-https-ca-certificates-file <file>', help: same('--tls-ca') },
  sslHttpsClientCertificateFile: { flags: '--ssl-https-client-certificate-file <file>', help: same('--tls-cert') },
  sslHttpsClientCertificateType: {
    flags: '--ssl-https-client-certificate-type <type>',
    help: 'only PEM',
    choices: ['PEM'],
  },
  sslHttpsPrivateKeyFile: { flags: '--ssl-https-private-key-file <file>', help: same('--tls-key') },
  sslHttpsPrivateKeyType: { flags: '--ssl-https-private-key-type <type>', help: 'only PEM', choices: ['PEM'] },
  startConcurrency: {
    flags: '-t, --start-concurrency <n>',
    help: 'deprecated: the start of --concurrency-range',
    parse: positiveWhole,
  },
  endConcurrency: {
    flags: '-c, --end-concurrency <n>',
    help: 'deprecated: the end of --concurrency-range',
    parse: wholeNumber,
  },
  dynamicConcurrency: { flags: '-d, --dynamic-concurrency', help: 'deprecated: an end of 0 in --concurrency-range' },
  zeroInput: { flags: '-z, --zero-input', help: 'deprecated: --input-data zero' },
  dataDirectory: { flags: '--data-directory <directory>', help: 'deprecated: --input-data DIRECTORY' },
};

/** A server of today passes the older levels over, and takes them for TIMESTAMPS on its command line. */
function traceLevel(text: string): NonNullable<TraceSpec['traceLevel']> {
  if (text === 'MIN' || text === 'MAX') return 'TIMESTAMPS';
  if (text === 'OFF' || text === 'TIMESTAMPS' || text === 'TENSORS') return text;
  throw new TrituneError('USAGE', `there is no trace level '${text}'`, 'use OFF, TIMESTAMPS or TENSORS');
}

function countOrNone(text: string): number {
  return text === '-1' ? -1 : wholeNumber(text);
}

/** What perf_analyzer offers and this does not, each with the reason. */
export const refusedFlags: readonly { readonly flags: string; readonly reason: string }[] = [
  { flags: '--enable-mpi', reason: 'several clients over MPI are not coordinated; start one profile for each model' },
  { flags: '--endpoint <path>', reason: 'it is about language models: measure those with tritune profile --endpoint' },
  { flags: '--session-concurrency <n>', reason: 'it is about OpenAI chats' },
  { flags: '--grpc-method <method>', reason: 'only the inference protocol of Triton is spoken over gRPC' },
  { flags: '--model-signature-name <name>', reason: 'it is about TensorFlow Serving' },
  { flags: '--triton-server-directory <directory>', reason: 'the server is not run within this process; see --launch' },
  {
    flags: '--periodic-concurrency-range <start:end:step>',
    reason: 'concurrency that grows with the responses of a stream is not offered; see --ramp',
  },
  { flags: '--request-period <n>', reason: 'concurrency that grows with the responses of a stream is not offered' },
];
