import type { Random } from '#base/random.ts';
import { MS_PER_S } from '#base/units.ts';
import type { Faults, FaultyLoad } from '../faults.ts';
import { configMeets, withValueAt } from './config-paths.ts';
import type { EmulatorProfile, InferFault, LoadFault, ModelProfile, StatisticsFault } from './schema.ts';

/** Twelve days: longer than anybody waits, and the maximum of a timer. */
const FOR_EVER_MS = 2 ** 30;
const OUT_OF_MEMORY = 'out of memory: failed to allocate the memory of the model';

/**
 * Returns the faults of a profile. Each counts its own loads and requests, from the start of the
 * emulator.
 */
export function profileFaults(profile: EmulatorProfile, random: Random): Faults {
  const models = new Map(profile.models.map((model) => [model.config.name, new ModelFaults(model, random)]));
  const loads = (what: LoadFault['what']) => (load: FaultyLoad) => models.get(load.model)?.meets(load, what);
  return {
    // The first question about a load, so it counts the load.
    delayLoadMs: (load) => {
      models.get(load.model)?.nextLoad(load);
      if (loads('hang')(load)) return FOR_EVER_MS;
      return (loads('delay')(load)?.delay_s ?? 0) * MS_PER_S;
    },
    crashLoad: (load) => loads('crash')(load) !== undefined,
    refuseLoad: (load) => {
      if (loads('out-of-memory')(load)) return OUT_OF_MEMORY;
      const refused = loads('refuse')(load);
      return refused ? (refused.message ?? 'refused, as the profile says') : null;
    },
    neverReady: (load) => loads('never-ready')(load) !== undefined,
    replaceConfig: (load) =>
      Object.entries(loads('other-config')(load)?.change ?? {}).reduce(
        (config, [path, value]) => withValueAt(config, path, value),
        load.config,
      ),
    // The first question about a request, so it counts the request.
    disturbInfer: (call) => {
      const fault = models.get(call.model)?.nextRequest();
      return !fault || fault.what === 'fail' || fault.what === 'delay' || fault.what === 'cut' ? null : fault.what;
    },
    delayInferMs: (call) => {
      const fault = models.get(call.model)?.request;
      return fault?.what === 'delay' ? fault.delay_ms : 0;
    },
    cutAnswerAfter: (call) => {
      const fault = models.get(call.model)?.request;
      return fault?.what === 'cut' ? fault.after_tokens : null;
    },
    disturbStatistics: (call) => models.get(call.model)?.nextReading()?.what ?? null,
    disturbMetrics: () => profile.faults.metrics ?? null,
    failInfer: (call) => {
      const fault = models.get(call.model)?.request;
      if (fault?.what !== 'fail') return null;
      return { status: fault.status, message: fault.message };
    },
  };
}

class ModelFaults {
  readonly #loads: readonly Counted<LoadFault>[];
  readonly #requests: readonly Counted<InferFault>[];
  readonly #readings: readonly Counted<StatisticsFault>[];
  readonly #random: Random;
  #load: readonly LoadFault[] = [];
  /** The fault of the request that `nextRequest` counted. */
  request: InferFault | undefined;

  constructor({ faults }: ModelProfile, random: Random) {
    this.#loads = faults.load.map((fault) => new Counted(fault, fault.after_loads, fault.times));
    this.#requests = faults.infer.map((fault) => new Counted(fault, fault.after_requests, fault.times));
    this.#readings = faults.statistics.map((fault) => new Counted(fault, fault.after_reads, fault.times));
    this.#random = random;
  }

  nextLoad({ config }: FaultyLoad): void {
    const due = this.#loads.filter(({ fault }) => configMeets(config, fault.when));
    this.#load = due.filter((counted) => counted.strikes()).map(({ fault }) => fault);
  }

  meets(_: FaultyLoad, what: LoadFault['what']): LoadFault | undefined {
    return this.#load.find((fault) => fault.what === what);
  }

  nextRequest(): InferFault | undefined {
    this.request = this.#requests.find((counted) =>
      counted.strikes(() => counted.fault.share === 1 || this.#random.float() < counted.fault.share),
    )?.fault;
    return this.request;
  }

  nextReading(): StatisticsFault | undefined {
    return this.#readings.find((counted) => counted.strikes())?.fault;
  }
}

/** Wraps a fault: lets a number of requests pass, then strikes a limited number of times. */
class Counted<F> {
  readonly fault: F;
  #toPass: number;
  #toStrike: number;

  constructor(fault: F, after: number, times: number | undefined) {
    this.fault = fault;
    this.#toPass = after;
    this.#toStrike = times ?? Number.POSITIVE_INFINITY;
  }

  strikes(drawn: () => boolean = () => true): boolean {
    if (this.#toPass > 0) {
      this.#toPass--;
      return false;
    }
    if (this.#toStrike === 0 || !drawn()) return false;
    this.#toStrike--;
    return true;
  }
}
