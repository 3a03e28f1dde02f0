import { Command, type Option, type ParseOptionsResult } from 'commander';

/**
 * The long options of perf_analyzer (2.59 and its newest source). They take precedence: an
 * abbreviation of one of them means the same here, even if a tritune option has the same beginning.
 */
const perfAnalyzerNames: ReadonlySet<string> = new Set(
  `async binary-search bls-composing-models collect-metrics concurrency-range data-directory enable-mpi endpoint
  fixed-schedule grpc-compression-algorithm grpc-method input-data input-tensor-format latency-threshold log-frequency
  max-threads max-trials measurement-interval measurement-mode measurement-request-count metrics-interval metrics-url
  model-repository model-signature-name num-of-sequences output-shared-memory-size output-tensor-format percentile
  periodic-concurrency-range profile-export-file proto request-count request-distribution request-intervals request-parameter
  request-period request-rate-range sequence-id-range sequence-length sequence-length-variation serial-sequences
  service-kind session-concurrency shape shared-memory ssl-grpc-certificate-chain-file ssl-grpc-private-key-file
  ssl-grpc-root-certifications-file ssl-grpc-use-ssl ssl-https-ca-certificates-file ssl-https-client-certificate-file
  ssl-https-client-certificate-type ssl-https-private-key-file ssl-https-private-key-type ssl-https-verify-host
  ssl-https-verify-peer stability-percentage streaming string-data string-length sync trace-count trace-level trace-rate
  triton-server-directory verbose-csv version warmup-request-count`
    .split(/\s+/)
    .map((name) => `--${name}`),
);

/**
 * A command that accepts any unambiguous beginning of a long option, like getopt_long and so
 * perf_analyzer.
 */
export class AbbreviatingCommand extends Command {
  /** Errors: a usage error with the candidates if several options share a beginning. */
  override parseOptions(args: string[]): ParseOptionsResult {
    return super.parseOptions(this.#spelledOut(args));
  }

  /** Leaves values of options unchanged, and everything after `--`. */
  #spelledOut(args: readonly string[]): string[] {
    const end = args.indexOf('--');
    let isValue = false;
    return args.map((arg, index) => {
      if (isValue || (end >= 0 && index >= end)) {
        isValue = false;
        return arg;
      }
      if (!arg.startsWith('--')) {
        isValue = arg.length === 2 && this.#optionNamed(arg)?.required === true;
        return arg;
      }
      const [statedName = arg] = arg.split('=', 1);
      const name = this.#completeName(statedName);
      const rest = arg.slice(statedName.length);
      isValue = rest === '' && this.#optionNamed(name)?.required === true;
      return name + rest;
    });
  }

  /** Returns the given name if no option begins with it: the parser reports that. */
  #completeName(beginning: string): string {
    if (this.#optionNamed(beginning) || beginning === '--help') return beginning;
    const candidates = this.options.flatMap(({ long }) => (long?.startsWith(beginning) ? [long] : []));
    const theirs = candidates.filter((name) => perfAnalyzerNames.has(name));
    const [name = beginning, ...others] = theirs.length > 0 ? theirs : candidates;
    if (others.length === 0) return name;
    return this.error(`error: option '${beginning}' is ambiguous; possibilities: ${candidates.join(' ')}`);
  }

  #optionNamed(name: string): Option | undefined {
    return this.options.find(({ short, long }) => name === short || name === long);
  }
}
