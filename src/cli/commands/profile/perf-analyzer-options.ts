import { TrituneError } from '#base/errors.ts';
import type { TraceSpec } from '#spec/profile-spec.ts';
import { type OptionTable, under } from '../../options/option-table.ts';
import { positiveWhole, wholeNumber } from '../../options/option-values.ts';
import { oneBatch } from '../../options/requests.ts';
import { sequenceIdRange } from '../../options/sweep-values.ts';

/**
 * Options in perf_analyzer's spelling that mean the same as another option, or that change nothing;
 * docs/profile.md describes each.
 */
export interface PerfAnalyzerFlags extends TraceSpec {
  /** GenAI-Perf's name of `batch`. */
  readonly batchSize?: number;
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

/** Another spelling of `option`, which works but is hidden from the help. */
const same = (flags: string, option: string) => ({ flags, help: `Same as ${option}`, isHidden: true });
/** An option that is accepted and does nothing. */
const ignored = (flags: string) => ({ flags, help: 'Accepted and ignored', isHidden: true });

export const perfAnalyzerOptionTable: OptionTable<PerfAnalyzerFlags> = {
  batchSize: { ...same('--batch-size <n>', '--batch'), parse: oneBatch },
  async: ignored('-a, --async'),
  sync: ignored('--sync'),
  maxThreads: { ...ignored('--max-threads <n>'), parse: positiveWhole },
  numOfSequences: { ...ignored('--num-of-sequences <n>'), parse: positiveWhole },
  serialSequences: ignored('--serial-sequences'),
  sequenceIdRange: { ...same('--sequence-id-range <start:end>', '--sequence-ids'), parse: sequenceIdRange },
  grpcCompressionAlgorithm: {
    ...same('--grpc-compression-algorithm <coding>', '--compression'),
    choices: ['none', 'gzip', 'deflate'],
  },
  inputTensorFormat: { ...same('--input-tensor-format <format>', '--tensor-format'), choices: ['binary', 'json'] },
  outputTensorFormat: { ...same('--output-tensor-format <format>', '--tensor-format'), choices: ['binary', 'json'] },
  metricsInterval: { ...ignored('--metrics-interval <ms>'), parse: positiveWhole },
  blsComposingModels: {
    flags: '--bls-composing-models <a:1,b>',
    help: 'Models that the model calls by BLS; their server statistics are reported too',
    heading: 'Measurement',
  },
  ...under<TraceSpec>('Trace of the server', {
    traceLevel: {
      flags: '--trace-level <level>',
      help: 'Trace level of the server during the run: OFF, TIMESTAMPS or TENSORS',
      parse: traceLevel,
    },
    traceRate: {
      flags: '--trace-rate <n>',
      help: 'Trace one of this many requests (default: 1000)',
      parse: positiveWhole,
    },
    traceCount: {
      flags: '--trace-count <n>',
      help: 'Stop after this many traces; -1 is no limit (default: -1)',
      parse: countOrNone,
    },
    logFrequency: {
      flags: '--log-frequency <n>',
      help: 'Traces in each file; 0 is one file (default: 0)',
      parse: wholeNumber,
    },
  }),
  sslGrpcUseSsl: same('--ssl-grpc-use-ssl', '--tls'),
  sslGrpcRootCertificationsFile: same('--ssl-grpc-root-certifications-file <file>', '--tls-ca'),
  sslGrpcPrivateKeyFile: same('--ssl-grpc-private-key-file <file>', '--tls-key'),
  sslGrpcCertificateChainFile: same('--ssl-grpc-certificate-chain-file <file>', '--tls-cert'),
  sslHttpsVerifyPeer: { ...same('--ssl-https-verify-peer <0|1>', '--tls-insecure, when 0'), parse: wholeNumber },
  sslHttpsVerifyHost: { ...same('--ssl-https-verify-host <0|1|2>', '--tls-insecure, when 0'), parse: wholeNumber },
  sslHttpsCaCertificatesFile: same('--ssl-https-ca-certificates-file <file>', '--tls-ca'),
  sslHttpsClientCertificateFile: same('--ssl-https-client-certificate-file <file>', '--tls-cert'),
  sslHttpsClientCertificateType: { ...ignored('--ssl-https-client-certificate-type <type>'), choices: ['PEM'] },
  sslHttpsPrivateKeyFile: same('--ssl-https-private-key-file <file>', '--tls-key'),
  sslHttpsPrivateKeyType: { ...ignored('--ssl-https-private-key-type <type>'), choices: ['PEM'] },
  startConcurrency: {
    ...same('-t, --start-concurrency <n>', 'the start of --concurrency-range'),
    parse: positiveWhole,
  },
  endConcurrency: { ...same('-c, --end-concurrency <n>', 'the end of --concurrency-range'), parse: wholeNumber },
  dynamicConcurrency: same('-d, --dynamic-concurrency', 'an end of 0 in --concurrency-range'),
  zeroInput: same('-z, --zero-input', '--input-data zero'),
  dataDirectory: same('--data-directory <directory>', '--input-data DIRECTORY'),
};

/** Current servers ignore the older levels, and treat them as TIMESTAMPS on their command line. */
function traceLevel(text: string): NonNullable<TraceSpec['traceLevel']> {
  if (text === 'MIN' || text === 'MAX') return 'TIMESTAMPS';
  if (text === 'OFF' || text === 'TIMESTAMPS' || text === 'TENSORS') return text;
  throw new TrituneError('USAGE', `there is no trace level '${text}'`, 'use OFF, TIMESTAMPS or TENSORS');
}

function countOrNone(text: string): number {
  return text === '-1' ? -1 : wholeNumber(text);
}

/** The options of perf_analyzer that are not supported, each with the reason. */
export const refusedFlags: readonly { readonly flags: string; readonly reason: string }[] = [
  { flags: '--enable-mpi', reason: 'MPI is not used; start one profile for each model' },
  { flags: '--session-concurrency <n>', reason: 'use --sessions with --concurrency' },
  { flags: '--grpc-method <method>', reason: "tritune speaks only Triton's inference protocol over gRPC" },
  { flags: '--proto <file>', reason: "tritune speaks only Triton's inference protocol over gRPC" },
  { flags: '--model-signature-name <name>', reason: 'it is for TensorFlow Serving' },
  { flags: '--triton-server-directory <directory>', reason: 'the server runs in a process of its own; use --launch' },
  {
    flags: '--periodic-concurrency-range <start:end:step>',
    reason: 'concurrency that grows with the responses of a stream is not available; use --ramp',
  },
  { flags: '--request-period <n>', reason: 'concurrency that grows with the responses of a stream is not available' },
];
