import type { Json } from '#base/json.ts';
import { FieldFault } from '../edits/config-fields.ts';
import { parseValue } from '../expression.ts';
import type { Names } from '../subject.ts';
import type { EngineSettingNames, EngineTraits, Expression } from '../types.ts';
import type { EngineFile, LawFile } from './engine-form.ts';
import type { Placed } from './inherit.ts';
import { spaceInvalid } from './source-fault.ts';

export const toTraits = ({ version: _, ...traits }: EngineFile): EngineTraits => traits;

/** Reads a law's expressions. Errors: SPACE_INVALID with the place. */
export function compileLaw({ value: law, place, path: at }: Placed<LawFile>, names: Names): EngineSettingNames {
  const parseOptionalExpression = (name: keyof LawFile): Expression | null => {
    const value: Json | undefined = law[name];
    if (value === undefined || value === null) return null;
    if (typeof value !== 'string') return { kind: 'value', value: value as number | boolean };
    try {
      return parseValue(value, names);
    } catch (error) {
      if (error instanceof FieldFault) throw spaceInvalid(place, [...at, name], error.message);
      throw error;
    }
  };
  return {
    maxSequences: parseOptionalExpression('maxSequences'),
    maxStepTokens: parseOptionalExpression('maxStepTokens'),
    chunksPrefill: parseOptionalExpression('chunksPrefill'),
    mixesPrefill: parseOptionalExpression('mixesPrefill'),
    kvCacheTokens: parseOptionalExpression('kvCacheTokens'),
    cachesPrefixes: parseOptionalExpression('cachesPrefixes'),
    gpus: parseOptionalExpression('gpus'),
  };
}
