import type { TrituneError } from '#base/errors.ts';

/** A server that runs only as long as the run that started it. */
export interface LaunchedServer {
  /** HOST:PORT of each endpoint. */
  readonly grpcUrl: string;
  readonly httpUrl: string;
  readonly metricsUrl: string;
  /** A description of the server, for people. */
  readonly description: string;
  /** The file for its output. */
  readonly logFile: string;
  /** Resolves when the process has ended: on its own, or after `stop`. */
  readonly ended: Promise<void>;
  /**
   * Returns the error of a server that has ended by itself, with its last words; null while it
   * runs, and after `stop`.
   */
  failure(): TrituneError | null;
  /** Ends the process: politely, then by force. Safe to call more than once. */
  stop(): Promise<void>;
}

export interface LaunchOptions {
  /** Models to load at the start. */
  readonly loadModels?: readonly string[];
  /** The only models that will be loaded by name later. */
  readonly laterModels?: readonly string[];
  /** Directory for the server's log. */
  readonly logDirectory: string;
  /**
   * Cores that the server may use, in the form of `taskset` and `docker run --cpuset-cpus`; all if
   * absent.
   */
  readonly cpus?: string | undefined;
  readonly readyTimeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Start options of a real Triton. */
export interface TritonLaunch extends LaunchOptions {
  readonly modelRepository: string;
  /** The file where the server may write traces; none if absent. */
  readonly traceFile?: string;
  /** Further options of tritonserver, unchanged; of two that conflict, Triton takes the last. */
  readonly extraArgs?: readonly string[];
}
