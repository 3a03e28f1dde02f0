import { z } from 'zod';
import type { JsonObject } from '../../base/json.ts';
import { engineFile, lawFile } from './engine-form.ts';
import { knownKnob, knownKnobNames } from './known-knobs.ts';
import { variantFile, variantsFile } from './variant-form.ts';

/** The form of a search-space file. `compile.ts` checks everything that it cannot express. */

const scalar = z.union([z.boolean(), z.number(), z.string()]);
const maxValues = 1000;
const maxParameters = 64;
const values = z.array(z.json()).min(1).max(maxValues);

const comparisonFields = z.strictObject({
  is: scalar.optional(),
  in: z.array(scalar).min(1).optional(),
  not: z.union([scalar, z.array(scalar).min(1)]).optional(),
  above: z.number().optional(),
  at_least: z.number().optional(),
  below: z.number().optional(),
  at_most: z.number().optional(),
  present: z.boolean().optional().describe('whether the field or the limit is there at all'),
});

const comparison = comparisonFields.refine(
  (test) => Object.keys(test).length > 0,
  'a comparison needs at least one of is, in, not, above, …',
);

const test = z
  .union([scalar, z.array(scalar).min(1), comparison])
  .describe('a value that it must equal, a list that must hold it, or comparisons');

export type ConditionFile = {
  any?: ConditionFile[] | undefined;
  not?: ConditionFile | undefined;
  [subject: string]: z.infer<typeof test> | ConditionFile | ConditionFile[] | undefined;
};

const condition: z.ZodType<ConditionFile> = z.lazy(() =>
  z
    .object({
      any: z.array(condition).min(1).optional().describe('at least one of these holds'),
      not: condition.optional().describe('this does not hold'),
    })
    .catchall(test)
    .describe(
      'all of these hold: parameter, base.FIELD, limits.NAME or device (cpu, gpu, model, auto), each with a test',
    ),
);

const valueFields = {
  values: values.optional().describe("the values to try; null leaves the base config's own value"),
  range: z.tuple([z.number(), z.number()]).optional().describe('from and to, both included'),
  step: z.number().positive().optional().describe('between the values of the range; 1 unless said'),
  points: z.int().min(2).max(maxValues).optional().describe('how many values, evenly spaced over the range'),
  powers: z.tuple([z.number(), z.number()]).optional().describe('the powers of two between these, both included'),
  choices: z
    .record(z.string(), z.record(z.string(), z.json()).describe('field path → value; null removes the field'))
    .optional()
    .describe('named choices that each set several fields at once'),
};

const parameterCase = z.strictObject({ when: condition.optional(), ...valueFields });

const parameterObject = z.strictObject({
  description: z.string().optional(),
  path: z.string().max(300).optional().describe('the field of the model config, such as optimization.cuda.graphs'),
  when: condition.optional().describe('the parameter applies only when this holds'),
  change: z.enum(['in-place', 'reload', 'expensive']).optional().describe('what a change of it costs'),
  expects: z
    .record(z.string(), z.number().positive())
    .optional()
    .describe('value → how many times as long executions are thought to take with it, beside values not named here'),
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
  .describe('a list of values, one fixed value, or a description of the values');

const knownParameters = Object.fromEntries(
  knownKnobNames.map((name) => [name, parameter.optional().describe(knownKnob(name)?.description ?? '')]),
);

const rule = z.strictObject({
  name: z.string().min(1).max(100).optional().describe('lets a space that extends this one replace or drop the rule'),
  when: condition.optional().describe('the rule counts only when this holds'),
  require: z.string().min(1).max(500).describe('such as: instances * threads <= limits.cores'),
  message: z.string().min(1).max(500).describe('what to tell a person whose candidate breaks the rule'),
});

export const spaceFile = z.strictObject({
  name: z.string().min(1).max(100).optional(),
  description: z.string().optional(),
  backend: z.string().min(1).max(100).optional(),
  extends: z.string().min(1).max(1000).optional().describe('a preset, or a file relative to this one'),
  limits: z
    .record(
      z.string().regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'a limit is named by letters, digits and _'),
      z.number().nullable(),
    )
    .optional()
    .describe('figures for rules, such as cores; null when unknown'),
  parameters: z
    .object(knownParameters)
    .catchall(parameter)
    .refine((all) => Object.keys(all).length <= maxParameters, `a space has at most ${maxParameters} parameters`)
    .optional(),
  engine: engineFile
    .optional()
    .describe("a language model's engine: parameters are settings of it unless they have a path"),
  law: lawFile.optional(),
  variants: variantsFile.optional(),
  drop: z.array(z.string()).optional().describe('inherited parameters, variants and rules that do not apply here'),
  rules: z.array(rule).max(200).optional(),
});

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

/** A file with the spaces of several models that are tuned together (`joint/given-spaces.ts` reads it). */
const membersFile = z.strictObject({
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
});

/** Returns the JSON Schema (2020-12) of a search-space file, for editors: the content of search-spaces/schema.json. */
export function spaceJsonSchema(): JsonObject {
  const schema = z.toJSONSchema(z.union([spaceFile.meta({ id: 'space' }), membersFile]), { io: 'input' }) as JsonObject;
  return { ...schema, title: 'tritune search space' };
}
