import { lookUp } from '#base/look-up.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { validateConfig } from '#triton/config/validation.ts';
import { inapplicable } from './applicability.ts';
import { withoutServerDefaults } from './edits/server-defaults.ts';
import { withSettings } from './engine.ts';
import { readSettings } from './engine-candidate.ts';
import { type ModelConfigs, toModelConfig, toOtherConfigs } from './model-configs.ts';
import type {
  Assignment,
  Candidate,
  Condition,
  Parameter,
  ParameterOption,
  ParameterValue,
  SearchSpace,
} from './types.ts';

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
