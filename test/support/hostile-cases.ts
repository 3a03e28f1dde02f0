import type { Random } from '#base/random.ts';
import { pick, shuffle } from '#base/random.ts';
import type { TuneOptions } from '#library/options.ts';
import { everyKindProfile } from './emulator.ts';
import type { Alteration, HostileServer } from './hostile-server.ts';
import { nameOfPlace, oddValuesOf, placesOfAnswers } from './odd-answers.ts';

/** What the answers of a hostile server say in one study. */
export interface HostileCase {
  readonly name: string;
  readonly protocol: 'grpc' | 'http';
  readonly alterations: readonly Alteration[];
}

/** Answers that no study over HTTP or no study at all asks for, or that are a status there. */
const unasked = {
  grpc: ['LogSettings'],
  http: ['LogSettings', 'ModelStreamInfer', 'ServerLive', 'ServerReady', 'ModelReady'],
};

/** Slower models, so that the studies need less of the machine. */
const kinds = everyKindProfile();
const SLOW_LAW: [number, number][] = [
  [1, 2],
  [8, 3],
];
export const hostileProfile = {
  ...kinds,
  models: kinds.models.map((model) => ({ ...model, law: { ...model.law, execution_ms: SLOW_LAW } })),
};

const protocols = ['grpc', 'http'] as const;
const places = placesOfAnswers();

/** Each field of each answer by each odd value, in rounds: the first has every field once. */
export function singleCases(random: Random): readonly HostileCase[] {
  const cases = protocols.flatMap((protocol) =>
    places
      .filter(({ method }) => !unasked[protocol].includes(method))
      .flatMap((place) =>
        shuffle([...oddValuesOf(place, protocol)], random).map((value, round) => ({
          name: `${protocol} ${nameOfPlace(place)} = ${value.name}`,
          protocol,
          alterations: [{ place, value, since: 0 }],
          round,
        })),
      ),
  );
  return shuffle(cases, random).sort((one, other) => one.round - other.round);
}

export function pairCase(random: Random): HostileCase {
  const protocol = pick(protocols, random);
  const alteration = (): Alteration => {
    const place = pick(
      places.filter(({ method }) => !unasked[protocol].includes(method)),
      random,
    );
    return { place, value: pick(oddValuesOf(place, protocol), random), since: random.int(0, 4) };
  };
  const alterations = [alteration(), alteration()];
  const words = alterations.map(({ place, value, since }) => `${nameOfPlace(place)} = ${value.name} from ${since}`);
  return { name: `${protocol} ${words.join(', ')}`, protocol, alterations };
}

export const HOSTILE_BUDGET_S = 10;

/** What the study must do for the server to be asked for such answers. */
export function hostileOptions({ protocol, alterations }: HostileCase, server: HostileServer): TuneOptions {
  const methods = alterations.map(({ place }) => place.method);
  const asks = (method: string): boolean => methods.includes(method);
  return {
    model: asks('ModelStreamInfer') ? 'stream' : 'm',
    protocol,
    url: protocol === 'grpc' ? server.grpcUrl : server.httpUrl,
    metricsUrl: server.metricsUrl,
    concurrency: { low: 1, high: 1 },
    maxTrials: 1,
    precision: 50,
    timeBudget: HOSTILE_BUDGET_S,
    maxOutage: 5,
    sampler: 'random',
    clientThreads: 1,
    ...((asks('SystemSharedMemoryStatus') || asks('CudaSharedMemoryStatus')) && { sharedMemory: 'system' as const }),
    ...(asks('TraceSetting') && { trace: true }),
    ...(asks('ModelStreamInfer') && { streaming: true }),
  };
}

/**
 * True where the server has said that the model was in another state, which the study then puts
 * back.
 */
export const isMisled = ({ alterations }: HostileCase): boolean =>
  alterations.some(({ place }) => ['ModelConfig', 'RepositoryIndex'].includes(place.method));
