import { basename } from 'node:path';
import { didYouMean } from '#base/nearest.ts';
import type { EngineFile, LawFile } from './engine-form.ts';
import type { ParameterFile, RuleFile, SpaceFile } from './schema.ts';
import type { SpaceSource } from './source.ts';
import { type FilePath, type SourcePlace, spaceInvalid } from './source-fault.ts';
import type { VariantFile } from './variant-form.ts';

/** A part of a file, with its place. */
export interface Placed<T> {
  readonly value: T;
  readonly place: SourcePlace;
  readonly path: FilePath;
}

/** A parameter of the joined space; `findPlace` finds the file that set the key. */
export interface JoinedParameter {
  readonly spec: ParameterFile;
  readonly findPlace: (key: string) => { readonly place: SourcePlace; readonly path: FilePath };
}

/** A file with everything that it inherits. */
export interface JoinedSpace {
  readonly name: string;
  readonly description: string;
  readonly backend: string | null;
  readonly limits: Readonly<Record<string, number | null>>;
  readonly parameters: ReadonlyMap<string, JoinedParameter>;
  /** Those that a file dropped, with the place of that. */
  readonly dropped: ReadonlyMap<string, Placed<JoinedParameter>>;
  readonly variants: ReadonlyMap<string, Placed<VariantFile>>;
  readonly rules: readonly Placed<RuleFile>[];
  /** A file replaces an engine as a whole. */
  readonly engine: EngineFile | null;
  readonly law: Placed<LawFile> | null;
}

const nothing: JoinedSpace = {
  name: 'space',
  description: '',
  backend: null,
  limits: {},
  parameters: new Map(),
  dropped: new Map(),
  variants: new Map(),
  rules: [],
  engine: null,
  law: null,
};

/**
 * Joins files, the most general first: each replaces the keys that it sets and keeps the rest.
 * Errors: SPACE_INVALID.
 */
export function inherit(sources: readonly SpaceSource[]): JoinedSpace {
  return sources.reduce(joinOne, nothing);
}

function joinOne(parent: JoinedSpace, { place, file }: SpaceSource): JoinedSpace {
  const kept = withoutDropped(parent, place, file.drop ?? []);
  const ownRules = (file.rules ?? []).map((value, index) => ({ value, place, path: ['rules', index] }));
  const replaced = new Set(ownRules.flatMap(({ value }) => value.name ?? []));
  return {
    name: file.name ?? basename(place.label).replace(/\.\w+$/, ''),
    description: file.description ?? '',
    backend: file.backend ?? parent.backend,
    limits: { ...parent.limits, ...file.limits },
    parameters: joinParameters(kept.parameters, place, file.parameters ?? {}),
    dropped: new Map([...kept.dropped].filter(([name]) => !Object.hasOwn(file.parameters ?? {}, name))),
    variants: joinVariants(kept.variants, place, file.variants ?? {}),
    rules: [...kept.rules.filter(({ value }) => !replaced.has(value.name ?? '')), ...ownRules],
    engine: file.engine ?? parent.engine,
    law: file.law ? { value: file.law, place, path: ['law'] } : parent.law,
  };
}

function withoutDropped(parent: JoinedSpace, place: SourcePlace, drop: readonly string[]): JoinedSpace {
  const dropped = new Map(parent.dropped);
  const ruleNames = parent.rules.flatMap(({ value }) => value.name ?? []);
  for (const [index, name] of drop.entries()) {
    if (!parent.parameters.has(name) && !parent.variants.has(name) && !ruleNames.includes(name)) {
      const guess = didYouMean(name, [...parent.parameters.keys(), ...parent.variants.keys(), ...ruleNames]);
      throw spaceInvalid(place, ['drop', index], `nothing named '${name}' is inherited${guess}`);
    }
    const parameter = parent.parameters.get(name);
    if (parameter) dropped.set(name, { value: parameter, place, path: ['drop', index] });
  }
  return {
    ...parent,
    parameters: new Map([...parent.parameters].filter(([name]) => !drop.includes(name))),
    dropped,
    variants: new Map([...parent.variants].filter(([name]) => !drop.includes(name))),
    rules: parent.rules.filter(({ value }) => !drop.includes(value.name ?? '')),
  };
}

/** A variant of the same name is replaced as a whole. */
function joinVariants(
  inherited: JoinedSpace['variants'],
  place: SourcePlace,
  variants: NonNullable<SpaceFile['variants']>,
): JoinedSpace['variants'] {
  const said = Object.entries(variants).map(
    ([name, value]) => [name, { value, place, path: ['variants', name] }] as const,
  );
  return new Map([...inherited, ...said]);
}

function joinParameters(
  inherited: JoinedSpace['parameters'],
  place: SourcePlace,
  parameters: NonNullable<SpaceFile['parameters']>,
): JoinedSpace['parameters'] {
  const joined = new Map(inherited);
  for (const [name, written] of Object.entries(parameters)) {
    if (written === undefined) continue;
    const spec = longForm(written);
    const before = joined.get(name);
    const path = ['parameters', name];
    joined.set(name, {
      spec: { ...(before === undefined ? {} : heritage(before.spec, spec)), ...spec },
      findPlace: (key) => {
        if (key in spec) return { place, path: written === spec ? [...path, key] : path };
        return before?.findPlace(key) ?? { place, path };
      },
    });
  }
  return joined;
}

const valueKeys = ['values', 'range', 'step', 'points', 'powers', 'choices', 'cases'] as const;

/**
 * Returns the keys that a parameter keeps from its ancestor: all but the values if it sets its own.
 */
function heritage(before: ParameterFile, spec: ParameterFile): ParameterFile {
  if (!valueKeys.some((key) => key in spec)) return before;
  const replaced: readonly string[] = spec.choices === undefined ? valueKeys : [...valueKeys, 'path'];
  const kept = Object.entries(before).filter(([key]) => !replaced.includes(key));
  return Object.fromEntries(kept);
}

/** The short forms, a list of values or one value, in full. */
function longForm(written: NonNullable<NonNullable<SpaceFile['parameters']>[string]>): ParameterFile {
  if (Array.isArray(written)) return { values: written };
  return typeof written === 'object' ? (written as ParameterFile) : { values: [written] };
}
