import { listed, plainLine } from '#base/format.ts';
import { bindSpace } from './bound-space.ts';
import { always, describeCondition } from './condition.ts';
import { formatPath } from './edits/config-path.ts';
import { planGroups } from './edits/instance-groups.ts';
import { countLimit, spaceSize } from './enumerate.ts';
import { toModelConfig } from './model-configs.ts';
import type { Candidate, ConfigPath, Parameter, ParameterCase, SearchSpace } from './types.ts';

/**
 * Returns the space in lines for a terminal; with a base config also how many assignments are legal
 * on it.
 */
export function describeSpace(space: SearchSpace, base?: Candidate): string {
  const backend = space.backend === null ? '' : ` (backend ${space.backend})`;
  const lines = [`${space.name}${backend}${space.description === '' ? '' : `: ${space.description.trim()}`}`];
  if (base !== undefined) {
    const { name } = toModelConfig(base);
    lines.push(`${sizeText(spaceSize(space, base))}${name === undefined || name === '' ? '' : ` for model '${name}'`}`);
  }
  lines.push('parameters, slowest to change first:', ...space.parameters.flatMap((one) => parameterLines(one)));
  if (base !== undefined) lines.push(...obstacleLines(space, base), ...describeGroups(space, base));
  return [...lines, ...describeRules('rules:', space)].join('\n');
}

/**
 * Returns a line about the instance groups of a base config that has several of them, and of which
 * the space sets some; no line for others.
 */
export function describeGroups({ parameters }: SearchSpace, base: Candidate): readonly string[] {
  const config = toModelConfig(base);
  const { instance_group: groups = [] } = config;
  const paths = parameters.flatMap(listWrittenPaths);
  const set = [...new Set(paths.flatMap(([field, index]) => (field === 'instance_group' ? [index] : [])))];
  const searched = set.filter((index) => typeof index === 'number');
  if (groups.length < 2 || searched.length === 0) return [];
  const intro = `'${config.name}' has ${groups.length} instance groups`;
  const { kept, followers } = planGroups(config, paths);
  if (kept !== null)
    return [plainLine(`${intro}: candidates have ${kept === 1 ? 'the first' : `the first ${kept}`} alone`)];
  const stays = groups
    .map((_, index) => index)
    .filter((index) => !searched.includes(index) && !followers.includes(index));
  const name = (indexes: readonly number[]): string =>
    listed(indexes.map((index) => groups[index]?.name ?? `number ${index + 1}`));
  const parts = [
    `the count of ${name(searched)} is searched`,
    ...(followers.length > 0 ? [`${name(followers)} ${followers.length === 1 ? 'has' : 'have'} the same`] : []),
    ...(stays.length > 0 ? [`${name(stays)} ${stays.length === 1 ? 'stays as it is' : 'stay as they are'}`] : []),
  ];
  return [plainLine(`${intro}: ${parts.join(', ')}`)];
}

const listWrittenPaths = ({ cases }: Parameter): readonly ConfigPath[] =>
  cases.flatMap(({ options }) => options.flatMap(({ writes }) => writes.map(({ path }) => path)));

/** Returns the rules, one in a line under the title, and the limits that they refer to. */
export function describeRules(title: string, { rules, limits }: Pick<SearchSpace, 'rules' | 'limits'>): string[] {
  const named = Object.entries(limits).map(([name, value]) => `${name} ${value ?? 'not stated'}`);
  return [
    ...(rules.length > 0 ? [title, ...rules.map(({ name, message }) => `  ${name}: ${message}`)] : []),
    ...(named.length > 0 ? [`limits: ${named.join(', ')}`] : []),
  ];
}

/**
 * Returns the names of the parameters with values for this model whose change takes a long load,
 * such as an engine build.
 */
export function expensiveParameters(space: SearchSpace, base: Candidate): string[] {
  return bindSpace(space, base)
    .settings.filter(({ parameter, cases }) => {
      return parameter.change === 'expensive' && cases.some(({ options }) => options.length > 0);
    })
    .map(({ parameter }) => parameter.name);
}

/** Returns one parameter in one line: its name, values, field, and when it applies. */
export function describeParameter(parameter: Parameter): string {
  const field = parameter.path === null ? 'choices' : formatPath(parameter.path);
  return `${parameter.name} = ${parameter.cases.map(caseText).join('; ')} [${field}, ${parameter.change}]`;
}

function parameterLines(parameter: Parameter): string[] {
  const text = `  ${describeParameter(parameter)}`;
  return parameter.description === '' ? [text] : [text, `    ${parameter.description.trim()}`];
}

function caseText({ when, options }: ParameterCase): string {
  const values = options.map(({ value }) => {
    if (value === null) return "the base config's";
    return typeof value === 'string' ? value : JSON.stringify(value);
  });
  return `${values.join(', ')}${when === always ? '' : ` when ${describeCondition(when)}`}`;
}

function obstacleLines(space: SearchSpace, base: Candidate): string[] {
  const idle = bindSpace(space, base).settings.filter(({ cases }) =>
    cases.every(({ options }) => options.length === 0),
  );
  return idle.map(({ parameter, obstacle }) => `  ${parameter.name} does not apply: ${obstacle}`);
}

function sizeText(size: number): string {
  return size === Number.POSITIVE_INFINITY ? `more than ${countLimit} combinations` : `${size} valid candidates`;
}
