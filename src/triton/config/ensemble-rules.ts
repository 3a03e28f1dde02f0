import { type ConfigFault, faultIf } from './fault.ts';
import type { ModelConfig } from './model-config.ts';

/** One step of an ensemble's `ensemble_scheduling`. */
export type EnsembleStep = {
  readonly model_name?: string;
  readonly model_version?: number;
  readonly input_map?: { readonly [modelTensor: string]: string };
  readonly output_map?: { readonly [modelTensor: string]: string };
};

const ensemble = 'ensemble';

const readScheduling = ({
  ensemble_scheduling,
}: ModelConfig): { readonly step?: readonly EnsembleStep[] } | undefined =>
  ensemble_scheduling as { readonly step?: readonly EnsembleStep[] } | undefined;

/** Empty for other models. */
export const ensembleSteps = (config: ModelConfig): readonly EnsembleStep[] => readScheduling(config)?.step ?? [];

/** Returns the models of an ensemble, each once; empty for other models. */
export function composingModels(config: ModelConfig): readonly string[] {
  return [...new Set(ensembleSteps(config).flatMap(({ model_name }) => model_name ?? []))];
}

/**
 * Rules for ensembles. The server also checks the composing models' own configs, which are not
 * available here.
 */
export function ensembleFaults(config: ModelConfig): readonly ConfigFault[] {
  const scheduling = readScheduling(config);
  const isEnsemble = config.platform === ensemble;
  if (!scheduling) return faultIf(isEnsemble, 'ensemble_scheduling', `must be given with platform '${ensemble}'`);
  const steps = scheduling.step ?? [];
  const foreign = (['instance_group', 'optimization', 'model_warmup'] as const).flatMap((field) =>
    faultIf(config[field] !== undefined, field, 'cannot be given for an ensemble; set it on its models'),
  );
  return [
    ...faultIf(!isEnsemble, 'platform', `must be '${ensemble}' with ensemble_scheduling`),
    ...faultIf(isEnsemble && Boolean(config.backend), 'backend', 'cannot be given for an ensemble'),
    ...foreign,
    ...faultIf(steps.length === 0, 'ensemble_scheduling.step', 'must have at least one step'),
    ...steps.flatMap(stepFaults),
    ...flowFaults(config, steps),
  ];
}

function stepFaults(step: EnsembleStep, i: number): readonly ConfigFault[] {
  const path = `ensemble_scheduling.step[${i}]`;
  return [
    ...faultIf(!step.model_name, `${path}.model_name`, 'must be given'),
    ...faultIf(!step.input_map, `${path}.input_map`, 'must be given'),
    ...faultIf(!step.output_map, `${path}.output_map`, 'must be given'),
  ];
}

/**
 * Checks that every tensor of the ensemble is written once and used, and that nothing is read
 * without being written.
 */
function flowFaults(config: ModelConfig, steps: readonly EnsembleStep[]): readonly ConfigFault[] {
  const inputs = new Set((config.input ?? []).map((tensor) => tensor.name));
  const outputs = new Set((config.output ?? []).map((tensor) => tensor.name));
  const read = new Set(steps.flatMap((step) => Object.values(step.input_map ?? {})));
  const written = new Set<string>();
  const doubles = steps.flatMap((step, i) =>
    Object.values(step.output_map ?? {}).flatMap((tensor) => {
      const twice = written.has(tensor);
      written.add(tensor);
      return faultIf(twice, `ensemble_scheduling.step[${i}].output_map`, `'${tensor}' is written by two steps`);
    }),
  );
  const available = reachable(inputs, steps);
  const starved = steps.flatMap((step, i) =>
    Object.values(step.input_map ?? {}).flatMap((tensor) =>
      faultIf(
        !available.has(tensor),
        `ensemble_scheduling.step[${i}].input_map`,
        `nothing that the ensemble's inputs lead to writes '${tensor}'`,
      ),
    ),
  );
  const used = (name: string): boolean => read.has(name) || outputs.has(name);
  return [
    ...doubles,
    ...starved,
    ...[...inputs].flatMap((name) => faultIf(!used(name), 'input', `no step uses '${name}'`)),
    ...[...outputs].flatMap((name) => faultIf(!available.has(name), 'output', `no step writes '${name}'`)),
    ...[...written].flatMap((name) =>
      faultIf(!used(name), 'ensemble_scheduling.step', `'${name}' is written for nobody`),
    ),
  ];
}

/** Returns the tensors that exist once every step that can run has run. */
function reachable(inputs: ReadonlySet<string>, steps: readonly EnsembleStep[]): ReadonlySet<string> {
  const tensors = new Set(inputs);
  let before = -1;
  while (tensors.size > before) {
    before = tensors.size;
    const ready = steps.filter((step) => Object.values(step.input_map ?? {}).every((tensor) => tensors.has(tensor)));
    for (const tensor of ready.flatMap((step) => Object.values(step.output_map ?? {}))) tensors.add(tensor);
  }
  return tensors;
}
