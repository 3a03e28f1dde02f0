import { isTrituneError } from '#base/errors.ts';
import type { Protocol, TlsSpec } from '#spec/server-spec.ts';
import type { FlatStudyOptions } from '#spec/tune-options.ts';
import { tuneOptionTable } from '../commands/tune/options.ts';
import type { OptionRow } from '../options/option-table.ts';
import { sequenceIdRange } from '../options/sweep-values.ts';
import { invalid } from './read-file.ts';
import type { Ignore, ModelSettings } from './schema.ts';

type FlagValue = NonNullable<ModelSettings['perf_analyzer_flags']>[string];

/** perf_analyzer's flags that mean the same as an option of ours. */
const same: Readonly<Record<string, keyof typeof tuneOptionTable>> = {
  'input-data': 'inputData',
  shape: 'shape',
  'string-length': 'stringLength',
  'string-data': 'stringData',
  'sequence-length': 'sequenceLength',
  'sequence-length-variation': 'sequenceLengthVariation',
  'shared-memory': 'sharedMemory',
  'output-shared-memory-size': 'outputSharedMemorySize',
  streaming: 'streaming',
  'request-distribution': 'requestDistribution',
  'request-parameter': 'requestParameter',
  // Where the file has a budget, that names the percentile.
  percentile: 'percentile',
};

const sameOfProtocol: Readonly<Record<Protocol, Readonly<Record<string, keyof TlsSpec | 'compression'>>>> = {
  grpc: {
    'grpc-compression-algorithm': 'compression',
    'ssl-grpc-use-ssl': 'tls',
    'ssl-grpc-root-certifications-file': 'tlsCa',
    'ssl-grpc-private-key-file': 'tlsKey',
    'ssl-grpc-certificate-chain-file': 'tlsCert',
  },
  http: {
    'ssl-https-ca-certificates-file': 'tlsCa',
    'ssl-https-client-certificate-file': 'tlsCert',
    'ssl-https-private-key-file': 'tlsKey',
  },
};

const untilNarrow = 'a level is measured until its intervals are narrow (--precision), or by --stability perf-analyzer';
const byFile = 'tritune sets it by the other keys of the file';
const noWaiting = 'no request waits for another one; see --client-threads';

const reasons: readonly (readonly [RegExp, string])[] = [
  [/^(stability-percentage|measurement-.*|max-trials|binary-search)$/, untilNarrow],
  [/^latency-threshold$/, 'the budget of the file or of --latency-budget limits the latency'],
  [/^(async|sync|max-threads|num-of-sequences|serial-sequences)$/, noWaiting],
  [/^(collect-metrics|metrics-interval)$/, 'the metrics are always read'],
  [/^metrics-url$/, 'say it with triton_metrics_url'],
  [/^(verbose|extra-verbose|verbose-csv|latency-report-file)$/, 'the journal holds every figure'],
  [/^(concurrency-range|request-rate-range|batch-size|url|protocol|model-name|model-repository)$/, byFile],
  [/^http-header$/, 'give it with -H, so that its value is kept nowhere'],
  [/^request-intervals$/, 'only tritune profile sends at given intervals'],
  [/^ssl-.*-type$/, 'keys and certificates are PEM files'],
  [/^(ssl-|grpc-)/, 'it is about the other protocol'],
];

export interface FlagOptions {
  /** The connections' TLS options, which all models share. */
  readonly tls: TlsSpec;
  readonly requests: Partial<FlatStudyOptions>;
}

/**
 * Translates perf_analyzer's flags to tritune's options. `at`: the path of the flags. Errors:
 * INPUT_INVALID for an invalid value.
 */
export function flagOptions(
  flags: NonNullable<ModelSettings['perf_analyzer_flags']>,
  protocol: Protocol,
  { file, at, ignore }: { readonly file: string; readonly at: readonly string[]; readonly ignore: Ignore },
): FlagOptions {
  let [tls, requests]: [TlsSpec, Partial<FlatStudyOptions>] = [{}, {}];
  for (const [flag, value] of Object.entries(flags)) {
    const key = [...at, flag];
    const option = findOption(flag, protocol);
    if (value === false) ignore(key.join('.'), 'it is off');
    else if (flag === 'sequence-id-range')
      requests = { ...requests, sequenceIds: parsed(sequenceIdRange, value, file, key) };
    else if (/^ssl-https-verify-(peer|host)$/.test(flag) && protocol === 'http') {
      if (Number(value) === 0) tls = { ...tls, tlsInsecure: true };
    } else if (option === undefined) {
      const reason = reasons.find(([pattern]) => pattern.test(flag))?.[1];
      ignore(key.join('.'), reason ?? 'tritune tune has no such option');
    } else if (option.startsWith('tls')) tls = { ...tls, [option]: optionValue(option, value, file, key) };
    else requests = { ...requests, [option]: optionValue(option, value, file, key) };
  }
  return { tls, requests };
}

/** Flags come from the file: one may have the name of a property that every object has. */
function findOption(flag: string, protocol: Protocol): keyof typeof tuneOptionTable | undefined {
  const alike = sameOfProtocol[protocol];
  if (Object.hasOwn(same, flag)) return same[flag];
  return Object.hasOwn(alike, flag) ? alike[flag] : undefined;
}

/** Uses the option's own parser, as if it had been given on the command line. */
function optionValue(
  option: keyof typeof tuneOptionTable,
  value: FlagValue,
  file: string,
  key: readonly string[],
): unknown {
  const row = tuneOptionTable[option] as OptionRow<unknown>;
  if (!row.flags.includes('<')) return true;
  if (row.choices && !row.choices.includes(String(value))) {
    throw invalid(file, key, `expected ${row.choices.join(', ')}`);
  }
  const { parse } = row;
  return parse ? parsed(parse, value, file, key) : String(value);
}

function parsed<T>(
  parse: (text: string, previous: T | undefined) => T,
  value: FlagValue,
  file: string,
  key: readonly string[],
): T {
  const texts = Array.isArray(value) ? value : [String(value)];
  try {
    return texts.reduce<T | undefined>((previous, text) => parse(text, previous), undefined) as T;
  } catch (error) {
    if (isTrituneError(error)) throw invalid(file, key, `${error.message} (${error.hint})`);
    throw error;
  }
}
