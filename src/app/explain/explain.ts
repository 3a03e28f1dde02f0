import { catchUp } from '#base/abort.ts';
import { realClock } from '#base/clock.ts';
import { isTrituneError, TrituneError } from '#base/errors.ts';
import { listed, plainLine } from '#base/format.ts';
import { didYouMean } from '#base/nearest.ts';
import { trituneVersion } from '#base/package.ts';
import type { LatencyLimit } from '#explain/explain-by-simulation.ts';
import { explainModel } from '#explain/explain-model.ts';
import type { ModelExplanation, ServiceExplanation } from '#explain/explanation.ts';
import { toInstanceReadings } from '#explain/prometheus-readings.ts';
import { type CounterReading, readServed } from '#explain/readings.ts';
import type { AddressSpec } from '#spec/server-spec.ts';
import { composingModels } from '#triton/config/ensemble-rules.ts';
import { readOtherConfigs } from '#triton/control/other-configs.ts';
import { connectControl, resolveAddresses } from '../server/addresses.ts';
import { readTls } from '../server/read-tls.ts';
import { type Arrivals, readArrivals, withArrivals } from './arrivals.ts';
import { hasObservation, type ObservedServer, readObservation, saveObservation } from './observation.ts';
import { observeServer } from './observe-server.ts';
import { readPrometheus } from './read-prometheus.ts';
import { readSavedPages } from './saved-pages.ts';

export interface ExplainOptions extends Omit<AddressSpec, 'metricsUrl'> {
  /** All models with requests, if none is named. */
  readonly model?: readonly string[];
  /** Seconds; Infinity to look until the signal, and keep the latest readings. Default 120. */
  readonly for?: number;
  readonly latencyBudget?: number;
  /** Default 99. */
  readonly percentile?: number;
  /** A directory to keep the readings in. */
  readonly save?: string;
  /** A directory with readings, or with pages of metrics and configs, in place of a server. */
  readonly from?: string;
  /** Address of Prometheus, whose counters count in place of the server's own. */
  readonly prometheus?: string;
  /** Seconds of the past that Prometheus is asked for; an hour by default. */
  readonly since?: number;
  /** Labels of its series, such as `namespace="prod"`. */
  readonly prometheusLabels?: string;
  /** Trace files of one run of the server, for the exact times of arrivals. */
  readonly traceFile?: readonly string[];
}

/** What the person sees meanwhile. */
export interface ExplainWatch {
  readonly signal: AbortSignal;
  /** Called with the readings so far, and the seconds that the observation takes. */
  readonly onReading: (readings: readonly CounterReading[], seconds: number) => void;
  readonly tell: (line: string) => void;
  /**
   * Called once the server and the configs of its models are known, if they can be read at once.
   */
  readonly onServer?: (server: ObservedServer['server'], configs: ObservedServer['configs']) => void;
}

/**
 * Observes a server without a request to a model and without a change, and explains what its models
 * do. Errors: MODEL_UNKNOWN, INPUT_INVALID, SERVER_*, OUTPUT_UNWRITABLE.
 */
export async function explain(options: ExplainOptions, watch: ExplainWatch): Promise<ServiceExplanation> {
  const observation =
    options.from === undefined ? await observe(options, watch) : await readSaved(options.from, watch.tell);
  if (options.save !== undefined) watch.tell(`wrote ${await saveObservation(options.save, observation)}`);
  const arrivals = options.traceFile && (await readArrivals(options.traceFile));
  return explainObservation(observation, toLimit(options), options.model, watch.tell, arrivals);
}

/**
 * Reads what was saved. `tell`: called with what it lacks. Errors: INPUT_INVALID, CONFIG_INVALID.
 */
async function readSaved(directory: string, tell: (line: string) => void): Promise<ObservedServer> {
  if (await hasObservation(directory)) return readObservation(directory);
  const observation = await readSavedPages(directory);
  tell(ONLY_MEANS);
  const lacking = listNames(observation.readings).filter((name) => !observation.configs.has(name));
  if (lacking.length > 0)
    tell(`left out, as their configs are not in ${directory}: ${plainLine(listed(lacking.slice(0, 20)))}`);
  return observation;
}

/** What the counters of Triton's metrics lack beside its statistics. */
const ONLY_MEANS = 'the metrics have no executions by batch size, only means: figures are less sure';

/**
 * Explains what was read of a server; without names, every model with requests. `tell`: called for
 * models that are left out, with the reason. `arrivals`: as `readArrivals` gives them. Errors:
 * MODEL_UNKNOWN; INPUT_INVALID for arrivals that are a sample.
 */
export async function explainObservation(
  { configs, readings, at, server }: ObservedServer,
  budget: LatencyLimit,
  requested: readonly string[] | undefined,
  tell: (line: string) => void,
  arrivals?: Arrivals,
): Promise<ServiceExplanation> {
  const served = readServed(readings);
  const names = [...served.keys()].sort();
  checkNames(requested ?? [], names);
  const work = arrivals ? withArrivals(served, arrivals, requested ?? names, tell) : served;
  const isPipeline = (name: string): boolean => composingModels(configs.get(name) ?? {}).length > 0;
  const idle: string[] = [];
  const models: ModelExplanation[] = [];
  for (const name of requested ?? names) {
    const config = configs.get(name);
    if (!config) continue;
    const parts = composingModels(config);
    const others = names.filter((other) => other !== name && !parts.includes(other) && !isPipeline(other));
    // Each takes up to a second, and a signal should end it.
    await catchUp();
    try {
      const explained = explainModel(work, { ...config, name }, others, budget);
      if (explained === null) idle.push(name);
      else models.push(explained);
    } catch (error) {
      // One that cannot be explained, such as one of a broken server, costs the others nothing.
      if (!isTrituneError(error)) throw error;
      tell(`'${name}' is left out: ${error.message}`);
    }
  }
  return {
    schemaVersion: 1,
    trituneVersion,
    at,
    server,
    budget: describeLimit(budget),
    models: models.toSorted((a, b) => computeGain(b) - computeGain(a)),
    idle,
  };
}

/** Returns the larger ratio of the two that a proposal would give; 1 without one. */
function computeGain({ present, proposal }: ModelExplanation): number {
  if (!present || !proposal) return 1;
  const latency = present.latencyMs && proposal.latencyMs ? present.latencyMs.mean / proposal.latencyMs.mean : 1;
  return Math.max(latency, proposal.ceiling.value / Math.max(present.ceiling.value, Number.MIN_VALUE));
}

/** Returns the names of the models that were loaded, in order. */
const listNames = (readings: readonly CounterReading[]): readonly string[] =>
  [...new Set(readings.flatMap(({ statistics }) => statistics.map(({ name }) => name)))].sort();

function checkNames(models: readonly string[], known: readonly string[]): void {
  const stranger = models.find((model) => !known.includes(model));
  if (stranger === undefined) return;
  const message = `the server has loaded no model '${stranger}'${didYouMean(stranger, known)}`;
  throw new TrituneError('MODEL_UNKNOWN', message, `its models are ${listed(known.slice(0, 20))}`);
}

const DEFAULT_PERCENTILE = 99;
const DEFAULT_SECONDS = 120;
const DEFAULT_SINCE_S = 3600;

/** Returns the limit in the options. */
export const toLimit = ({
  percentile = DEFAULT_PERCENTILE,
  latencyBudget = Number.POSITIVE_INFINITY,
}: ExplainOptions): LatencyLimit => ({ percentile, latencyMs: latencyBudget });

/** Returns the limit as documents have it. */
export const describeLimit = ({ percentile, latencyMs }: LatencyLimit): ServiceExplanation['budget'] => ({
  percentile,
  latencyMs: Number.isFinite(latencyMs) ? latencyMs : null,
});

/** Returns the readings of the busiest server that Prometheus knows. */
async function observePast(
  { prometheus, since = DEFAULT_SINCE_S, prometheusLabels = '' }: ExplainOptions & { readonly prometheus: string },
  { signal, tell }: ExplainWatch,
): Promise<readonly CounterReading[]> {
  const nowSeconds = Math.floor(realClock.wallMs() / 1e3);
  const query = { url: prometheus, sinceSeconds: since, labels: prometheusLabels, nowSeconds };
  const [busiest, ...others] = toInstanceReadings(await readPrometheus(query, signal));
  if (!busiest || busiest.readings.length < 2)
    throw new TrituneError('INPUT_INVALID', 'Prometheus has no two readings', 'ask for a longer time (--since)');
  tell(ONLY_MEANS);
  if (others.length > 0) {
    const names = plainLine(listed(others.map(({ instance }) => instance)));
    tell(`explains ${plainLine(busiest.instance)}, the busiest server; others: ${names}`);
  }
  return busiest.readings;
}

async function observe(options: ExplainOptions, watch: ExplainWatch): Promise<ObservedServer> {
  const { for: seconds = DEFAULT_SECONDS } = options;
  const { client, server } = await connectControl(resolveAddresses(options, await readTls(options)));
  const introduce = (names: readonly string[], onServer: NonNullable<ExplainWatch['onServer']>): void => {
    readOtherConfigs(client, names).then(
      ({ configs }) => onServer(server, new Map(Object.entries(configs))),
      // They are read again at the end.
      () => undefined,
    );
  };
  try {
    const readings =
      options.prometheus === undefined
        ? await observeServer(client, seconds, {
            clock: realClock,
            signal: watch.signal,
            onReading: (each) => {
              // A mistyped name ends the observation at once.
              if (each.length === 1) checkNames(options.model ?? [], listNames(each));
              if (each.length === 1 && watch.onServer) introduce(listNames(each), watch.onServer);
              watch.onReading(each, seconds);
            },
          })
        : await observePast({ ...options, prometheus: options.prometheus }, watch);
    const { configs, unreadable, unread } = await readOtherConfigs(client, listNames(readings));
    for (const [model, error] of unreadable) watch.tell(`'${model}' is left out: ${error.message}`);
    if (unread.length > 0) watch.tell(`${unread.length} models are left out: their configs take too long to read`);
    return {
      at: new Date(realClock.wallMs()).toISOString(),
      server: { name: server.name, version: server.version, url: server.url },
      configs: new Map(Object.entries(configs)),
      readings,
    };
  } finally {
    await client.close();
  }
}
