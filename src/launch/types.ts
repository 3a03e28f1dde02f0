/** A server that runs only as long as the run that started it. */
export interface LaunchedServer {
  /** HOST:PORT of each endpoint. */
  readonly grpcUrl: string;
  readonly httpUrl: string;
  readonly metricsUrl: string;
  /** What runs, for people. */
  readonly description: string;
  /** Where its output goes. */
  readonly logFile: string;
  /** Resolves when the process has ended: by itself, or after `stop`. */
  readonly ended: Promise<void>;
  /** Ends the process: politely, then by force. Safe to call more than once. */
  stop(): Promise<void>;
}

export interface LaunchOptions {
  /** Models to load at the start. */
  readonly loadModels?: readonly string[];
  /** Models that will be loaded by name, and no others. */
  readonly laterModels?: readonly string[];
  /** Directory for the server's log. */
  readonly logDirectory: string;
  /** Cores that the server may use, as `taskset` and `docker run --cpuset-cpus` take them; all when undefined. */
  readonly cpus?: string | undefined;
  readonly readyTimeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** What a real Triton is started with. */
export interface TritonLaunch extends LaunchOptions {
  readonly modelRepository: string;
  /** Where the server may write traces; none when undefined. */
  readonly traceFile?: string;
  /** More options of tritonserver, as they are; Triton takes the last of two that are about the same. */
  readonly extraArgs?: readonly string[];
}
