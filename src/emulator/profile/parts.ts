import type { EmulatorProfile } from './schema.ts';

/** A model or ensemble of a profile, and the models that receive its requests. */
interface Node {
  readonly name: string;
  /** Its place in the profile. */
  readonly place: string;
  readonly parts: readonly string[];
}

/** Returns what is inconsistent between the models of a profile, and where; null if nothing is. */
export function partsFault(profile: EmulatorProfile): { readonly place: string; readonly reason: string } | null {
  const nodes = [...modelNodes(profile), ...ensembleNodes(profile)];
  const byName = new Map(nodes.map((node) => [node.name, node] as const));
  const twice = nodes.find(({ name }, index) => nodes.findIndex((other) => other.name === name) !== index);
  if (twice) return { place: 'models', reason: `there is more than one model '${twice.name}'` };
  for (const { name, place, parts } of nodes) {
    const wrong = parts.find((part) => part === name || !byName.has(part));
    if (wrong !== undefined) return { place, reason: `'${wrong}' is not another model of the profile` };
  }
  const circle = nodes.find(({ name }) => below(name, byName).has(name));
  return circle ? { place: circle.place, reason: `requests to '${circle.name}' would come back to it` } : null;
}

/**
 * Returns these models and ensembles, plus the models of the ensembles: everything that is loaded
 * with them.
 */
export function withComposingModels(profile: EmulatorProfile, names: readonly string[]): ReadonlySet<string> {
  const ensembles = new Map(ensembleNodes(profile).map((node) => [node.name, node] as const));
  return new Set(names.flatMap((name) => [name, ...below(name, ensembles)]));
}

const modelNodes = ({ models }: EmulatorProfile): Node[] =>
  models.map(({ config, bls }, index) => ({
    name: config.name,
    place: `models.${index}.bls`,
    parts: (bls?.stages ?? []).flat().map(({ model }) => model),
  }));

const ensembleNodes = ({ ensembles }: EmulatorProfile): Node[] =>
  ensembles.map(({ config }, index) => ({
    name: config.name,
    place: `ensembles.${index}.config`,
    parts: config.ensemble_scheduling.step.map(({ model_name }) => model_name),
  }));

/** Returns every model that its requests reach, at any depth. */
function below(name: string, nodes: ReadonlyMap<string, Node>): Set<string> {
  const names = new Set<string>();
  const add = (of: string): void => {
    for (const part of nodes.get(of)?.parts ?? []) {
      if (names.has(part)) continue;
      names.add(part);
      add(part);
    }
  };
  add(name);
  return names;
}
