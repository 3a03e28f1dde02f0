import { type Command, Option } from 'commander';
import { TrituneError } from '#base/errors.ts';
import type { ProfileOptions } from './options.ts';
import { refusedFlags } from './perf-analyzer-options.ts';

/**
 * Returns the options with perf_analyzer's other spellings replaced by ours. Errors: USAGE for
 * contradictions.
 */
export function withoutAliases(options: ProfileOptions): ProfileOptions {
  return {
    ...options,
    ...toBatch(options),
    ...chooseLevels(options),
    ...toInput(options),
    ...toWireOptions(options),
    ...toTlsOptions(options),
  };
}

function toBatch({ batch, batchSize = batch }: ProfileOptions): Pick<ProfileOptions, 'batch'> {
  if (batch > 1 && batch !== batchSize) throw usage('--batch and --batch-size mean the same', 'leave one of them out');
  return { batch: batchSize };
}

function chooseLevels(options: ProfileOptions): Partial<ProfileOptions> {
  const { startConcurrency: start, endConcurrency: end, dynamicConcurrency } = options;
  if (start === undefined && end === undefined && !dynamicConcurrency) return {};
  if (options.concurrencyRange) throw usage('-t, -c and -d cannot be used with --concurrency-range', 'leave them out');
  const first = start ?? 1;
  return { concurrencyRange: { start: first, end: dynamicConcurrency ? (end ?? 0) : (end ?? first), step: 1 } };
}

function toInput({ inputData, zeroInput, dataDirectory, ...options }: ProfileOptions): Partial<ProfileOptions> {
  const inputs = [inputData, zeroInput, dataDirectory].filter((value) => value !== undefined);
  if (inputs.length > 1)
    throw usage('-z, --data-directory and --input-data cannot be used together', 'use --input-data alone');
  return {
    ...(zeroInput && { inputData: ['zero'] }),
    ...(dataDirectory !== undefined && { inputData: [dataDirectory] }),
    ...(options.sequenceIdRange && { sequenceIds: options.sequenceIdRange }),
  };
}

function toWireOptions(options: ProfileOptions): Partial<ProfileOptions> {
  const { inputTensorFormat: input, outputTensorFormat: output, grpcCompressionAlgorithm: coding } = options;
  if (input !== undefined && output !== undefined && input !== output) {
    throw usage(
      'input and output tensors must have the same format',
      'give --input-tensor-format and --output-tensor-format the same value',
    );
  }
  const format = input ?? output;
  return {
    ...(format !== undefined && options.protocol === 'http' && { tensorFormat: format }),
    ...(coding !== undefined && options.protocol === 'grpc' && { compression: coding }),
  };
}

function toTlsOptions(options: ProfileOptions): Partial<ProfileOptions> {
  if (options.protocol === 'grpc') {
    const { sslGrpcUseSsl, sslGrpcRootCertificationsFile: ca } = options;
    return {
      ...(sslGrpcUseSsl && { tls: true }),
      ...(ca !== undefined && { tlsCa: ca }),
      ...(options.sslGrpcPrivateKeyFile !== undefined && { tlsKey: options.sslGrpcPrivateKeyFile }),
      ...(options.sslGrpcCertificateChainFile !== undefined && { tlsCert: options.sslGrpcCertificateChainFile }),
    };
  }
  const { sslHttpsCaCertificatesFile: ca, sslHttpsClientCertificateFile: cert, sslHttpsPrivateKeyFile: key } = options;
  return {
    ...(ca !== undefined && { tlsCa: ca }),
    ...(cert !== undefined && { tlsCert: cert }),
    ...(key !== undefined && { tlsKey: key }),
    ...((options.sslHttpsVerifyPeer === 0 || options.sslHttpsVerifyHost === 0) && { tlsInsecure: true }),
  };
}

/**
 * Adds the unsupported options of perf_analyzer, hidden from the help. Call `refuse` after parsing:
 * it throws with the reason if one was given. Errors of `refuse`: UNSUPPORTED.
 */
export function addRefusedOptions(command: Command): { readonly refuse: () => void } {
  const refused = refusedFlags.map(({ flags, reason }) => ({ option: new Option(flags).hideHelp(), reason }));
  for (const { option } of refused) command.addOption(option);
  return {
    refuse: () => {
      const statedOption = refused.find(({ option }) => command.getOptionValueSource(option.attributeName()) === 'cli');
      if (!statedOption) return;
      throw new TrituneError(
        'UNSUPPORTED',
        `${statedOption.option.long} is not supported: ${statedOption.reason}`,
        'leave it out',
      );
    },
  };
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
