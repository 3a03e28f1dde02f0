import type { Context, Span } from '@opentelemetry/api';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { trituneVersion } from '#base/package.ts';
import { shownUrl } from '#base/secrets.ts';
import { describeLevel } from '#study/summary/describe.ts';
import type { TunerEvent } from '#tuner/seams.ts';
import { type Attributes, listStudyFigures, type TelemetryFigure } from './otlp-figures.ts';
import type { StudyWatch } from './study/watch.ts';

/** OpenTelemetry's packages, which only `--otlp` needs. */
const INSTALL =
  'npm install @opentelemetry/api@1.10 @opentelemetry/resources@3 @opentelemetry/sdk-metrics@3 @opentelemetry/sdk-trace@3 @opentelemetry/exporter-metrics-otlp-http@0.301 @opentelemetry/exporter-trace-otlp-http@0.301';

/** Returns the packages. Errors: UNSUPPORTED if they are not installed, with how to do that. */
async function telemetryPackages() {
  try {
    const [api, resources, metrics, traces, metricsExport, traceExport] = await Promise.all([
      import('@opentelemetry/api'),
      import('@opentelemetry/resources'),
      import('@opentelemetry/sdk-metrics'),
      import('@opentelemetry/sdk-trace'),
      import('@opentelemetry/exporter-metrics-otlp-http'),
      import('@opentelemetry/exporter-trace-otlp-http'),
    ]);
    return { api, resources, metrics, traces, metricsExport, traceExport };
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new TrituneError('UNSUPPORTED', "OpenTelemetry's packages, which --otlp needs, are not installed", INSTALL, {
      cause: error,
    });
  }
}

/** Sends a run to an OpenTelemetry collector. */
export interface Telemetry {
  /** Begins and ends the span of a study and those of its trials. */
  onEvent(event: TunerEvent): void;
  /** Sends figures of the run. */
  record(figures: readonly TelemetryFigure[]): void;
  /** Sends what is left. Resolves to what went wrong, in words; null if nothing did. */
  close(): Promise<string | null>;
}

/** What is run, as attributes of all that is sent. */
export interface TelemetrySubject {
  readonly command: 'tune' | 'profile' | 'capacity';
  readonly model: string;
}

const TIMEOUT_MS = 5000;

/**
 * Opens the way to a collector that takes OTLP over HTTP, such as `http://localhost:4318`. Headers,
 * such as tokens, come from OTEL_EXPORTER_OTLP_HEADERS, as everywhere. null without an address.
 * Errors: USAGE for a wrong one; UNSUPPORTED without OpenTelemetry's packages.
 */
export async function openTelemetry(
  url: string | undefined,
  { command, model }: TelemetrySubject,
): Promise<Telemetry | null> {
  if (url === undefined) return null;
  if (!/^https?:\/\//.test(url) || !URL.canParse(url))
    throw new TrituneError(
      'USAGE',
      `'${url}' is not an address of a collector`,
      'write for example http://localhost:4318',
    );
  const { api, resources, metrics, traces, metricsExport, traceExport } = await telemetryPackages();
  const base = url.replace(/\/+$/, '');
  const faults: string[] = [];
  // The SDK reports failures of its exports here only.
  api.diag.setLogger(
    quietLogger((line) => faults.push(readMessage(line))),
    api.DiagLogLevel.ERROR,
  );
  const resource = resources.resourceFromAttributes({
    'service.name': 'tritune',
    'service.version': trituneVersion,
    'tritune.command': command,
    'tritune.model': model,
  });
  const meterProvider = new metrics.MeterProvider({
    resource,
    readers: [
      new metrics.PeriodicExportingMetricReader({
        exporter: new metricsExport.OTLPMetricExporter({ url: `${base}/v1/metrics`, timeoutMillis: TIMEOUT_MS }),
      }),
    ],
  });
  const tracerProvider = new traces.TracerProvider({
    resource,
    spanProcessors: [
      new traces.BatchSpanProcessor({
        exporter: new traceExport.OTLPTraceExporter({ url: `${base}/v1/traces`, timeoutMillis: TIMEOUT_MS }),
      }),
    ],
  });
  const meter = meterProvider.getMeter('tritune', trituneVersion);
  const tracer = tracerProvider.getTracer('tritune', trituneVersion);
  const spans = new StudySpans((name, parent, startTime, attributes) => {
    const context: Context = parent ? api.trace.setSpan(api.ROOT_CONTEXT, parent) : api.ROOT_CONTEXT;
    return tracer.startSpan(name, { startTime, attributes }, context);
  }, api.SpanStatusCode.ERROR);
  return {
    onEvent: (event) => spans.take(event),
    record: (figures) => {
      for (const { name, unit, value, attributes } of figures)
        meter.createGauge(name, { unit }).record(value, attributes);
    },
    close: async () => {
      spans.end();
      const ended = await Promise.allSettled([meterProvider.shutdown(), tracerProvider.shutdown()]);
      for (const each of ended) if (each.status === 'rejected') faults.push(formatMessage(each.reason));
      return faults.length === 0 ? null : `not everything reached ${shownUrl(url)}: ${faults[0]}`;
    },
  };
}

/** Returns the message of an error that the SDK logs as JSON, with its stack. */
const readMessage = (line: string): string => plainLine(/"message":"((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? line, 200);

function quietLogger(onError: (line: string) => void) {
  const ignore = (): void => undefined;
  return { error: onError, warn: ignore, info: ignore, debug: ignore, verbose: ignore };
}

type StartSpan = (name: string, parent: Span | null, startTime: Date, attributes: Attributes) => Span;

/** The span of a study, with those of its trials below it. */
class StudySpans {
  readonly #start: StartSpan;
  readonly #errorCode: number;
  #study: Span | null = null;
  readonly #trials = new Map<number, Span>();

  constructor(start: StartSpan, errorCode: number) {
    this.#start = start;
    this.#errorCode = errorCode;
  }

  take(event: TunerEvent): void {
    switch (event.type) {
      case 'study-started':
      case 'study-resumed':
        this.#study = this.#start('study', null, new Date(event.at), {});
        break;
      case 'trial-started': {
        const { trial, role, candidate, at } = event;
        const attributes = { 'tritune.trial': trial, 'tritune.role': role, ...toAttributes(candidate.assignment) };
        this.#trials.set(trial, this.#start(`trial ${trial}`, this.#study, new Date(at), attributes));
        break;
      }
      case 'trial-applied':
        this.#trials
          .get(event.trial)
          ?.addEvent(
            'applied',
            { 'tritune.change': event.change, 'tritune.load_ms': event.loadMs },
            new Date(event.at),
          );
        break;
      case 'trial-measured': {
        const { level, throughput, budgetLatencyMs } = event.measurement;
        this.#trials.get(event.trial)?.addEvent(
          'measured',
          {
            'tritune.level': describeLevel(level),
            'tritune.throughput': throughput.value,
            'tritune.latency_ms': budgetLatencyMs.value,
          },
          new Date(event.at),
        );
        break;
      }
      case 'trial-finished':
        this.#finish(event.trial, event.feasible, event.failure?.reason ?? null, new Date(event.at));
        break;
      case 'study-finished':
        this.#study?.end(new Date(event.at));
        this.#study = null;
        break;
    }
  }

  #finish(trial: number, isFeasible: boolean, failure: string | null, at: Date): void {
    const span = this.#trials.get(trial);
    this.#trials.delete(trial);
    span?.setAttribute('tritune.feasible', isFeasible);
    if (failure !== null) span?.setStatus({ code: this.#errorCode, message: failure });
    span?.end(at);
  }

  /** Ends what an early end of the run left open. */
  end(): void {
    for (const span of this.#trials.values()) span.end();
    this.#trials.clear();
    this.#study?.end();
    this.#study = null;
  }
}

/** Returns the parameters of a candidate, under `tritune.parameter`. */
const toAttributes = (assignment: Readonly<Record<string, unknown>>): Attributes =>
  Object.fromEntries(
    Object.entries(assignment).map(([name, value]) => [
      `tritune.parameter.${name}`,
      typeof value === 'number' || typeof value === 'boolean' ? value : String(value),
    ]),
  );

/** Returns the watch of a study with a collector that sees the same. */
export const withTelemetry = <W extends StudyWatch>(watch: W, telemetry: Telemetry | null): W =>
  telemetry === null
    ? watch
    : {
        ...watch,
        onEvent: (event) => {
          telemetry.onEvent(event);
          watch.onEvent(event);
        },
        onEnd: (written) => {
          telemetry.record(listStudyFigures(written.summary));
          watch.onEnd(written);
        },
      };

/** Sends what is left, and says what went wrong: a run is worth more than its copy elsewhere. */
export async function closeTelemetry(telemetry: Telemetry | null, tell: (line: string) => void): Promise<void> {
  const fault = await telemetry?.close();
  if (fault != null) tell(fault);
}
