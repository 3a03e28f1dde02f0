import { TrituneError } from '#base/errors.ts';
import { lookUp } from '#base/look-up.ts';
import { stepsByTensors } from '#queueing/network/plan.ts';
import type { Step } from '#queueing/network/types.ts';
import { composingModels, ensembleSteps } from '#triton/config/ensemble-rules.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { ModelConfigs } from '../model-configs.ts';
import type { Topology, TopologyFront } from '../topology.ts';

/**
 * The user's part of the topology of models that are tuned together; the rest is in their configs.
 */
export interface RequestedTopology {
  /** At least one: the models that clients call, each with its share of the level. */
  readonly fronts: readonly Omit<TopologyFront, 'steps'>[];
  /** BLS models by name, with the models that they call. */
  readonly calls: { readonly [model: string]: readonly string[] };
}

/**
 * Returns the models that this one sends requests to: the steps of an ensemble, or the declared
 * calls of a BLS model.
 */
export const listParts = (config: ModelConfig, model: string, { calls }: RequestedTopology): readonly string[] => [
  ...new Set([...composingModels(config), ...(lookUp(calls, model) ?? [])]),
];

export const isEnsemble = (config: ModelConfig | undefined): boolean =>
  config !== undefined && composingModels(config).length > 0;

/**
 * Returns the topology of the models with these configs, which are those of all fronts and their
 * parts, at any depth. Errors: INPUT_INVALID for an ensemble that no request can pass through;
 * USAGE for calls of a model that is not among them.
 */
export function readTopology(topology: RequestedTopology, configs: ModelConfigs): Topology {
  const calls = Object.entries(topology.calls).map(([model, called]) => [model, called.flatMap(stagesIn)] as const);
  const stages = new Set<string>();
  const add = (stage: string): void => {
    if (stages.has(stage)) return;
    stages.add(stage);
    for (const [caller, called] of calls) if (caller === stage) called.forEach(add);
  };
  for (const { model } of topology.fronts) stagesIn(model).forEach(add);
  const stray = calls.find(([model]) => !stages.has(model));
  if (stray) throw strayCaller(stray[0], stages);
  return {
    fronts: topology.fronts.map((front) => ({ ...front, steps: readSteps(front.model, configs) })),
    stages: [...stages],
    ...(calls.length > 0 && { calls: Object.fromEntries(calls) }),
  };

  /** The models with instances of their own behind this name. */
  function stagesIn(model: string): readonly string[] {
    const flat = (step: Step): readonly string[] => ('stage' in step ? [step.stage] : step.steps.flatMap(flat));
    return [...new Set(readSteps(model, configs).flatMap(flat))];
  }
}

/** Returns the ensembles among the configs, each after those inside it. */
export function ensemblesIn(configs: ModelConfigs): readonly string[] {
  const depth = (model: string): number => {
    const config = lookUp(configs, model);
    return config ? Math.max(0, ...composingModels(config).map((part) => 1 + depth(part))) : 0;
  };
  const names = Object.keys(configs).filter((model) => isEnsemble(lookUp(configs, model)));
  return names.sort((a, b) => depth(a) - depth(b));
}

/**
 * Returns one step for a model; those of an ensemble in the order of its tensors, with inner
 * ensembles kept.
 */
function readSteps(model: string, configs: ModelConfigs): readonly Step[] {
  const config = lookUp(configs, model);
  if (!config || !isEnsemble(config)) return [{ stage: model }];
  const steps = ensembleSteps(config).map(({ model_name = '', input_map = {}, output_map = {} }) => ({
    stage: model_name,
    needs: Object.values(input_map),
    gives: Object.values(output_map),
  }));
  const inputs = (config.input ?? []).map(({ name }) => name);
  return stepsByTensors(steps, inputs).map((step): Step => {
    if (!('stage' in step) || !isEnsemble(lookUp(configs, step.stage))) return step;
    const { stage, ...place } = step;
    return { ...place, steps: readSteps(stage, configs) };
  });
}

const strayCaller = (model: string, stages: ReadonlySet<string>): TrituneError =>
  new TrituneError(
    'USAGE',
    `'${model}' is not in this study`,
    `use one of ${[...stages].join(', ')}, as in --bls-composing MODEL=a,b`,
  );
