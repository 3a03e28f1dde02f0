import { NS_PER_S, nsToMs } from '#base/units.ts';
import type { ObservedRequest } from '#loadgen/observed-transport.ts';
import type { TokenReply } from '#loadgen/token-reply.ts';
import type { LoadLevel } from '#loadgen/types.ts';
import { GrowingFile } from './growing-file.ts';

/** The names of AIPerf's metrics; its own file has units as text too. */
type Metrics = Readonly<Record<string, { readonly value: number | readonly number[]; readonly unit: string }>>;

const milliseconds = (ns: number) => ({ value: nsToMs(ns), unit: 'ms' });
const tokens = (value: number) => ({ value, unit: 'tokens' });

/**
 * The requests of a language model, one JSON line each, with the field names of AIPerf's
 * `profile_export.jsonl` (0.14). It holds every request of a level; those that ended before the
 * first window are its warm-up. The start of that window is known to some milliseconds. `epochNs`:
 * nanoseconds from 1970 to the monotonic clock's 0.
 */
export class RequestRecords {
  readonly #file: GrowingFile;
  readonly #epochNs: bigint;
  /** Requests of a level whose first window is not over yet. */
  #waiting: ObservedRequest[] = [];
  #level: LoadLevel = { mode: 'concurrency', value: 0 };
  /** The start of the first window; null until it is over. */
  #countedFromNs: number | null = null;
  #written = 0;

  /** Errors: OUTPUT_EXISTS, OUTPUT_UNWRITABLE. */
  static async open(path: string, epochNs: bigint): Promise<RequestRecords> {
    return new RequestRecords(await GrowingFile.open(path), epochNs);
  }

  private constructor(file: GrowingFile, epochNs: bigint) {
    this.#file = file;
    this.#epochNs = epochNs;
  }

  beginLevel(level: LoadLevel): void {
    this.#level = level;
    this.#countedFromNs = null;
  }

  onRequest(observed: ObservedRequest): void {
    if (this.#countedFromNs === null) this.#waiting.push(observed);
    else this.#write(observed, this.#countedFromNs);
  }

  /** A window of this length is over. */
  onWindow(nowNs: number, lengthNs: number): void {
    this.#countedFromNs ??= nowNs - lengthNs;
    this.#writeWaiting(this.#countedFromNs);
  }

  endLevel(): void {
    this.#writeWaiting(Number.POSITIVE_INFINITY);
  }

  /** Ends the file. Errors: OUTPUT_UNWRITABLE if anything could not be written. */
  close(): Promise<void> {
    return this.#file.close();
  }

  #writeWaiting(countedFromNs: number): void {
    for (const observed of this.#waiting.splice(0)) this.#write(observed, countedFromNs);
  }

  #write({ request, startNs, endNs, outcome }: ObservedRequest, countedFromNs: number): void {
    const { mode, value } = this.#level;
    const metadata = {
      session_num: this.#written++,
      benchmark_phase: endNs < countedFromNs ? 'warmup' : 'profiling',
      was_cancelled: false,
      [mode === 'concurrency' ? 'concurrency' : 'request_rate']: value,
    };
    const reply = outcome.ok ? outcome.tokens : undefined;
    const isFailed = reply === undefined;
    const record = {
      metadata,
      metrics: isFailed ? failedMetrics(request.prompt?.inputTokens) : toMetrics(reply, endNs - startNs),
      error: outcome.ok ? null : { type: outcome.kind, message: outcome.message },
    };
    // JSON has no numbers of this size.
    const times = `"request_start_ns":${this.#time(startNs)},"request_end_ns":${this.#time(endNs)},`;
    this.#file.write(`${JSON.stringify(record).replace('{"metadata":{', `{"metadata":{${times}`)}\n`);
  }

  #time(ns: number): string {
    return String(this.#epochNs + BigInt(Math.round(ns)));
  }
}

function toMetrics({ firstNs, gapsNs, inputTokens, outputTokens }: TokenReply, latencyNs: number): Metrics {
  const tokenNs = firstNs === null || outputTokens < 2 ? null : (latencyNs - firstNs) / (outputTokens - 1);
  return {
    request_latency: milliseconds(latencyNs),
    input_sequence_length: tokens(inputTokens),
    output_sequence_length: tokens(outputTokens),
    ...(firstNs !== null && {
      time_to_first_token: milliseconds(firstNs),
      inter_chunk_latency: { value: gapsNs.map(nsToMs), unit: 'ms' },
    }),
    ...(tokenNs !== null && {
      inter_token_latency: milliseconds(tokenNs),
      output_token_throughput_per_user: { value: NS_PER_S / tokenNs, unit: 'tokens/sec/user' },
    }),
  };
}

const failedMetrics = (inputTokens: number | null | undefined): Metrics | null =>
  inputTokens == null ? null : { error_isl: tokens(inputTokens) };
