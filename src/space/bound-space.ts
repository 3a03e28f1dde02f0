import { lookUp } from '#base/look-up.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { validateConfig } from '#triton/config/validation.ts';
import { formatPath } from './edits/config-path.ts';
import { withoutServerDefaults } from './edits/server-defaults.ts';
import { withSettings } from './engine.ts';
import { readSettings } from './engine-candidate.ts';
import { type ModelConfigs, toModelConfig, toOtherConfigs } from './model-configs.ts';
import { chooseDevice } from './subject.ts';
import type {
  Assignment,
  Candidate,
  Condition,
  ConfigPath,
  Parameter,
  ParameterOption,
  ParameterValue,
  SearchSpace,
} from './types.ts';

/**
 * Returns why the field must not be set on a model with this base config; undefined if it may be.
 * The server would refuse it (two schedulers, GPUs for CPU instances), or the model would lose its
 * batch dimension or gain an impossible one (docs/search-spaces.md). `choosesKind`: the space
 * itself sets where instances run, so the base config does not decide.
 */
function inapplicable(path: ConfigPath, base: ModelConfig, choosesKind: boolean): string | undefined {
  const text = formatPath(path);
  const isBatching = path[0] === 'dynamic_batching';
  if (
    base.ensemble_scheduling !== undefined &&
    (isBatching || path[0] === 'instance_group' || text === 'max_batch_size')
  ) {
    return 'an ensemble has no instances and no batching of its own';
  }
  if (path[0] === 'sequence_batching' && base.sequence_batching === undefined) return 'the model takes no sequences';
  if (path[0] === 'ensemble_scheduling' && base.ensemble_scheduling === undefined) return 'the model is no ensemble';
  if (isBatching && base.sequence_batching !== undefined) return 'the model uses sequence batching';
  if ((isBatching || text === 'max_batch_size') && (base.max_batch_size ?? 0) < 1)
    return 'the model has no batch dimension';
  if (!choosesKind && chooseDevice(base) === 'cpu' && needsGpu(path, text)) return 'the model runs on the CPU';
  if (text.startsWith('optimization.cuda') && base.backend === 'onnxruntime')
    return 'the ONNX Runtime backend ignores it (its own CUDA graphs are a parameter of its TensorRT accelerator)';
  return undefined;
}

function needsGpu(path: ConfigPath, text: string): boolean {
  if (path[0] === 'instance_group') return path[2] === 'gpus';
  return (
    text.startsWith('optimization.cuda') ||
    text.startsWith('optimization.execution_accelerators.gpu_execution_accelerator')
  );
}

/** A search space over one base config: only the settings that are possible on that model. */
export interface BoundSpace {
  readonly space: SearchSpace;
  /** The base config without the server's own defaults. */
  readonly base: ModelConfig;
  /** Faults of the base config by Triton's rules as we know them, although the server serves it. */
  readonly baseFaults: ReadonlySet<string>;
  /** In the order of `space.parameters`. */
  readonly settings: readonly Setting[];
  readonly byName: ReadonlyMap<string, Setting>;
  /** The same over the configs of other models, by the parameter and the value that choose one. */
  readonly others: ReadonlyMap<string, ReadonlyMap<ParameterValue, BoundSpace>>;
}

export interface Setting {
  readonly parameter: Parameter;
  readonly cases: readonly { readonly when: Condition; readonly options: readonly ParameterOption[] }[];
  /** Why values were left out on this base config; '' if none were. */
  readonly obstacle: string;
}

/**
 * Samplers build thousands of candidates of one space and one base; neither ever changes. By space,
 * config, and other configs.
 */
const bound = new WeakMap<SearchSpace, WeakMap<ModelConfig, WeakMap<ModelConfigs, BoundSpace>>>();

/**
 * Leaves out of the space what must not be set on this base, an original candidate: on its config,
 * and on those of its other models if a parameter chooses one. Errors: CONFIG_INVALID for a wrong
 * base config.
 */
export function bindSpace(space: SearchSpace, base: Pick<Candidate, 'value'>): BoundSpace {
  const others = toOtherConfigs(base);
  // An engine without a config is identified by its settings.
  const config = (base.value.engineSettings as ModelConfig | undefined) ?? toModelConfig(base);
  const known = bound.get(space)?.get(config)?.get(others);
  if (known !== undefined) return known;
  const fresh = bindAfresh(space, toBase(space, base), others);
  const ofSpace = bound.get(space) ?? new WeakMap<ModelConfig, WeakMap<ModelConfigs, BoundSpace>>();
  bound.set(space, ofSpace.set(config, (ofSpace.get(config) ?? new WeakMap()).set(others, fresh)));
  return fresh;
}

/** The base of candidates: the base's config, together with the settings of its engine. */
function toBase({ engine }: SearchSpace, base: Pick<Candidate, 'value'>): ModelConfig {
  const config = toModelConfig(base);
  return engine ? withSettings(config, readSettings(base) ?? {}, engine.defaults) : config;
}

function bindAfresh(space: SearchSpace, base: ModelConfig, others: ModelConfigs): BoundSpace {
  const known: ModelConfigs = { ...others, [base.name ?? '']: base };
  const plain = Object.fromEntries(
    Object.entries(known).map(([name, config]) => [name, withoutServerDefaults(config)]),
  );
  const choosesKind = space.parameters.some(setsKind);
  const over = (config: ModelConfig, choices: readonly Setting[] = []): BoundSpace => {
    const settings = space.parameters.map(
      (parameter) =>
        choices.find((choice) => choice.parameter === parameter) ??
        bindParameter(parameter, config, plain, choosesKind),
    );
    const byName = new Map(settings.map((one) => [one.parameter.name, one]));
    return { space, base: config, baseFaults: new Set(tritonFaults(config)), settings, byName, others: new Map() };
  };
  const boundSpace = over(lookUp(plain, base.name ?? '') as ModelConfig);
  const choices = boundSpace.settings.filter(choosesModel);
  const of = (option: ParameterOption): [ParameterValue, BoundSpace][] =>
    option.model === undefined || option.model === base.name
      ? []
      : [[option.value, over(lookUp(plain, option.model) as ModelConfig, choices)]];
  const byChoice = choices.map(({ parameter, cases }) => {
    const options = cases.flatMap((each) => each.options);
    return [parameter.name, new Map(options.flatMap(of))] as const;
  });
  return { ...boundSpace, others: new Map(byChoice) };
}

const choosesModel = ({ parameter: { cases } }: Pick<Setting, 'parameter'>): boolean =>
  cases.some(({ options }) => options.some(({ model }) => model !== undefined));

/**
 * Returns the binding to the model that the assignment chooses, or to the base's own model if it
 * chooses none.
 */
export function boundTo(bound: BoundSpace, assignment: Assignment): BoundSpace {
  for (const [name, byValue] of bound.others) {
    const chosen = Object.hasOwn(assignment, name) ? byValue.get(assignment[name] as ParameterValue) : undefined;
    if (chosen) return chosen;
  }
  return bound;
}

/** Returns the bindings to all models, the base's own first. */
export const allBindings = (bound: BoundSpace): readonly BoundSpace[] => [
  bound,
  ...[...bound.others.values()].flatMap((byValue) => [...byValue.values()]),
];

/** Returns the faults of the config by Triton's own rules, in words. */
export function tritonFaults(config: ModelConfig): string[] {
  return validateConfig(config).map(({ path, reason }) => `${path} ${reason}`);
}

function setsKind({ cases }: Parameter): boolean {
  const writes = cases.flatMap(({ options }) => options.flatMap((option) => option.writes));
  return writes.some(({ path }) => path[0] === 'instance_group' && (path.length === 1 || path[2] === 'kind'));
}

function bindParameter(parameter: Parameter, base: ModelConfig, known: ModelConfigs, choosesKind: boolean): Setting {
  let obstacle = '';
  const cases = parameter.cases.map(({ when, options }) => {
    const possible = options.filter(({ writes, model }) => {
      const config = model === undefined ? base : lookUp(known, model);
      const reason = config
        ? writes.map(({ path }) => inapplicable(path, config, choosesKind)).find((text) => text !== undefined)
        : `the config of model '${model}' is not known`;
      if (reason !== undefined) obstacle = reason;
      return reason === undefined;
    });
    const isIdle = possible.length < options.length && possible.every(leavesAll);
    return { when, options: isIdle ? [] : possible };
  });
  return { parameter, cases, obstacle };
}

const leavesAll = ({ writes, model }: ParameterOption): boolean => writes.length === 0 && model === undefined;
