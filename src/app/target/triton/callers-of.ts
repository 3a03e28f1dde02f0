import { lookUp } from '#base/look-up.ts';
import { isEnsemble } from '#space/joint/topology-of.ts';
import type { ModelConfigs } from '#space/model-configs.ts';
import { ensembleSteps } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { directCalls, type Rates, withBehind } from './direct-calls.ts';
import type { TracedCalls } from './traced-calls.ts';

/** The effects of a few requests to a front. */
export interface FrontEffects {
  readonly front: string;
  /** Requests that each other model got per request to the front. */
  readonly rates: Rates;
  readonly traced: TracedCalls;
  /** The configs of all loaded models. */
  readonly configs: ModelConfigs;
}

/** Calls by caller, and the called models whose caller is unknown. */
export interface CallFindings {
  readonly calls: ReadonlyMap<string, readonly string[]>;
  readonly uncalled: readonly string[];
}

const SURE = 0.5;

/**
 * Returns which model calls which behind a front. Traces show it. For calls without traces, asks
 * each model that may call others (`ask`, which returns null for one that does not answer), and
 * subtracts from its requests the effects of the models that it calls.
 */
export async function findCallers(
  { front, rates, traced, configs }: FrontEffects,
  mayCall: (config: ModelConfig) => boolean,
  ask: (model: string) => Promise<Rates | null>,
): Promise<CallFindings> {
  const isOne = (model: string): boolean => isEnsemble(lookUp(configs, model));
  const calls = new Map<string, Set<string>>();
  const add = (caller: string, called: Iterable<string>): void => {
    if (!isOne(caller)) calls.set(caller, new Set([...(calls.get(caller) ?? []), ...called]));
  };
  for (const [caller, called] of traced) add(caller, called);
  const shown = new Set([...calls.values()].flatMap((called) => [...called]));
  const through = new Map<string, Rates>();
  const behind = (model: string): Rates =>
    isOne(model) ? withBehind(toSteps(lookUp(configs, model)), behind) : (through.get(model) ?? new Map());
  const unexplained = (): readonly string[] => {
    const explained = isOne(front) ? behind(front) : new Map<string, number>();
    return [...rates].flatMap(([model, rate]) => (rate - (explained.get(model) ?? 0) > SURE ? [model] : []));
  };
  // A traced call includes the steps of the called model.
  const open = unexplained().filter(
    (model) => !shown.has(model) && ![...shown].some((name) => behind(name).has(model)),
  );
  if (open.length === 0) return callsWith();
  const callers = new Set([...rates.keys()].filter((model) => mayCall(lookUp(configs, model) ?? {})));
  if (!isOne(front)) through.set(front, rates);
  for (const caller of callers) through.set(caller, (await ask(caller)) ?? new Map());
  for (const [caller, total] of through) add(caller, directCalls(total, behind).keys());
  if (!isOne(front)) return callsWith();
  const left = unexplained().filter((model) => !shown.has(model));
  const [only, ...more] = [...callers].filter((model) => behind(front).has(model) && !left.includes(model));
  if (only === undefined || more.length > 0) return callsWith(left);
  add(only, left);
  return callsWith();

  function callsWith(uncalled: readonly string[] = []): CallFindings {
    const some = [...calls].filter(([, called]) => called.size > 0);
    return { calls: new Map(some.map(([caller, called]) => [caller, [...called]])), uncalled };
  }
}

/** Returns the number of requests that each step's model gets per request to the ensemble. */
function toSteps(config: ModelConfig = {}): Rates {
  const steps = new Map<string, number>();
  for (const { model_name = '' } of ensembleSteps(config)) steps.set(model_name, (steps.get(model_name) ?? 0) + 1);
  return steps;
}
