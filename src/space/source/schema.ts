import { z } from 'zod';
import type { JsonObject } from '#base/json.ts';
import { engineFile, lawFile } from './engine-form.ts';
import { knownKnob, knownKnobNames } from './known-knobs.ts';
import { variantFile, variantsFile } from './variant-form.ts';

/** The form of a search-space file. `compile.ts` checks everything that it cannot express. */

const scalar = z.union([z.boolean(), z.number(), z.string()]);
const maxValues = 1000;
const maxParameters = 64;
const values = z.array(z.json()).min(1).max(maxValues);

const comparisonFields = z.strictObject({
  is: scalar.optional().describe('it equals this value'),
  in: z.array(scalar).min(1).optional().describe('it is one of these values'),
  not: z
    .union([scalar, z.array(scalar).min(1)])
    .optional()
    .describe('it differs from this value, or from all of these'),
  above: z.number().optional().describe('it is larger than this'),
  at_least: z.number().optional().describe('it is this or larger'),
  below: z.number().optional().describe('it is smaller than this'),
  at_most: z.number().optional().describe('it is this or smaller'),
  present: z.boolean().optional().describe('whether the field or the limit is there at all'),
});

const comparison = comparisonFields.refine(
  (test) => Object.keys(test).length > 0,
  'a comparison needs at least one of is, in, not, above, …',
);

const test = z
  .union([scalar, z.array(scalar).min(1), comparison])
  .meta({ id: 'test', description: 'a value that it must equal, a list that must contain it, or comparisons' });

export type ConditionFile = {
  any?: ConditionFile[] | undefined;
  not?: ConditionFile | undefined;
  [subject: string]: z.infer<typeof test> | ConditionFile | ConditionFile[] | undefined;
};

const condition: z.ZodType<ConditionFile> = z
  .lazy(() =>
    z
      .object({
        any: z.array(condition).min(1).optional().describe('at least one of these holds'),
        not: condition.optional().describe('this does not hold'),
      })
      .catchall(test.describe('a test of a parameter, base.FIELD, limits.NAME or device (cpu, gpu, model, auto)')),
  )
  .meta({ id: 'condition', description: 'tests that must all hold' });

const valueFields = {
  values: values.optional().describe("the values to try; null leaves the base config's own value"),
  range: z
    .tuple([z.number(), z.number()])
    .optional()
    .describe('numbers from and to, both included: [1, 4] is 1, 2, 3, 4'),
  step: z.number().positive().optional().describe('step between the values of the range; 1 by default'),
  points: z
    .int()
    .min(2)
    .max(maxValues)
    .optional()
    .describe('how many values, evenly spaced over the range: 5 from 0.5 to 0.9'),
  powers: z.tuple([z.number(), z.number()]).optional().describe('powers of two between these, both included: [1, 64]'),
  choices: z
    .record(z.string(), z.record(z.string(), z.json()).describe('field path → value; null removes the field'))
    .optional()
    .describe('named choices that each set several fields at once'),
};

const parameterCase = z
  .strictObject({ when: condition.optional().describe('the case applies only when this holds'), ...valueFields })
  .meta({ id: 'case', description: 'values of a parameter under a condition' });

const parameterObject = z.strictObject({
  description: z.string().optional().describe('notes for people'),
  path: z.string().max(300).optional().describe('the field of the model config, such as optimization.cuda.graphs'),
  when: condition.optional().describe('the parameter applies only when this holds'),
  change: z
    .enum(['in-place', 'reload', 'expensive'])
    .optional()
    .describe(
      'cost of a change: instances only, a load, or a load that builds an engine; tritune finds out the first two',
    ),
  expects: z
    .record(z.string(), z.number().positive())
    .optional()
    .describe('expected execution time by value, relative to the values that are not named: fp16: 0.5 is half of it'),
  ...valueFields,
  cases: z
    .array(parameterCase)
    .min(1)
    .max(32)
    .optional()
    .describe('values by condition: the first case that holds counts'),
});

const parameter = z
  .union([values, scalar, parameterObject])
  .meta({ id: 'parameter', description: 'a list of values, one fixed value, or a description of the values' });

/** `largest batch of one execution`, and the field of the model config in parentheses. */
function describeKnob(name: string): string {
  const { description = '', path = '' } = knownKnob(name) ?? {};
  return `${description} (\`${path}\`)`;
}

const knownParameters = Object.fromEntries(
  knownKnobNames.map((name) => [name, parameter.optional().describe(describeKnob(name))]),
);

const rule = z
  .strictObject({
    name: z
      .string()
      .min(1)
      .max(100)
      .optional()
      .describe('name by which a space that extends this one can replace or drop the rule'),
    when: condition.optional().describe('the rule applies only when this holds'),
    require: z.string().min(1).max(2000).describe('relation, such as: instances * threads <= limits.cores'),
    message: z.string().min(1).max(500).describe('message when a candidate breaks the rule'),
  })
  .meta({ id: 'rule', description: 'a relation that every candidate must keep' });

export const spaceFile = z
  .strictObject({
    name: z.string().min(1).max(100).optional().describe("name for people and reports; the file's own by default"),
    description: z.string().optional().describe('notes for people'),
    backend: z.string().min(1).max(100).optional().describe('the backend that the space is for, for people'),
    extends: z
      .string()
      .min(1)
      .max(1000)
      .optional()
      .describe('a preset, or a file relative to this one: this file adds to it, and replaces what has the same name'),
    limits: z
      .record(
        z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'a limit is named by letters, digits and _'),
        z.number().nullable(),
      )
      .optional()
      .describe('figures for rules, such as cores; null when unknown, and rules that need it then do not apply'),
    parameters: z
      .object(knownParameters)
      .catchall(
        parameter.describe('any other field of the model config by its path, or by your own name with a `path`'),
      )
      .refine((all) => Object.keys(all).length <= maxParameters, `a space has at most ${maxParameters} parameters`)
      .optional()
      .describe(
        'what may change, and to which values, by name: a short name, a field path, or your own name with a path',
      ),
    engine: engineFile
      .optional()
      .describe("a language model's engine: parameters are settings of it unless they have a path"),
    law: lawFile.optional(),
    variants: variantsFile.optional(),
    drop: z.array(z.string()).optional().describe('inherited parameters, variants and rules that do not apply here'),
    rules: z.array(rule).max(200).optional().describe('relations that every candidate must keep'),
  })
  .meta({ id: 'space', description: 'the search space of one model' });

/** The keys that each part of a file may have. */
export const formKeys = {
  top: Object.keys(spaceFile.shape),
  parameter: Object.keys(parameterObject.shape),
  case: Object.keys(parameterCase.shape),
  rule: Object.keys(rule.shape),
  test: Object.keys(comparisonFields.shape),
  variant: Object.keys(variantFile.shape),
};

export type SpaceFile = z.infer<typeof spaceFile>;
export type ParameterFile = z.infer<typeof parameterObject>;
export type ValuesFile = Pick<ParameterFile, keyof typeof valueFields>;
export type RuleFile = z.infer<typeof rule>;

/**
 * A file with the spaces of several models that are tuned together (`joint/given-spaces.ts` reads
 * it).
 */
const membersFile = z
  .strictObject({
    members: z
      .record(z.string(), z.union([z.string().min(1), spaceFile]))
      .describe('model → its space: a preset, a file relative to this one, or the space itself'),
    others: z
      .union([z.string().min(1), spaceFile])
      .optional()
      .describe('the space of models that are not named; the presets of their backends if not given'),
    limits: spaceFile.shape.limits,
    rules: z
      .array(rule)
      .max(200)
      .optional()
      .describe('over parameters of several models: a.instances + b.instances <= 6'),
  })
  .meta({ id: 'members', description: 'the search spaces of models that are tuned together' });

/**
 * Returns the JSON Schema (2020-12) of a search-space file, for editors: the content of
 * search-spaces/schema.json.
 */
export function spaceJsonSchema(): JsonObject {
  const schema = z.toJSONSchema(z.union([spaceFile, membersFile]), { io: 'input' }) as JsonObject;
  return { ...schema, title: 'tritune search space' };
}
