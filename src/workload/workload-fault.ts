import type { z } from 'zod';
import { TrituneError } from '#base/errors.ts';
import { plainLine } from '#base/format.ts';
import { didYouMean } from '#base/nearest.ts';
import { joinFaults } from '#base/schema-faults.ts';
import type { TextPosition } from '#base/yaml.ts';
import { formAt } from './form-at.ts';

/** A file, and the positions of its parts. */
export interface WorkloadPlace {
  readonly label: string;
  readonly position: (path: readonly PropertyKey[]) => TextPosition | null;
}

const SCHEMA_HINT = 'see docs/workloads.md and docs/workload.schema.json';

/** INPUT_INVALID with the file, the line, the path and what to write. */
export function workloadFault(
  { label, position }: WorkloadPlace,
  path: readonly PropertyKey[],
  what: string,
  hint: string = SCHEMA_HINT,
): TrituneError {
  const at = position(path);
  const where = path.length === 0 ? '' : `${path.map(String).join('.')}: `;
  const line = at === null ? '' : `, line ${at.line}`;
  return new TrituneError('INPUT_INVALID', plainLine(`${label}${line}: ${where}${what}`, 500), hint);
}

/** Returns the schema's fault, in words that say what to write. */
export function schemaFault(place: WorkloadPlace, error: z.ZodError, value: unknown): TrituneError {
  const issues = error.issues.map((each) => deepest(each, []));
  // An unknown name is often why another one is missing.
  const unknown = issues.find((each) => each.issue.code === 'unrecognized_keys');
  const first = unknown ?? (issues[0] as PlacedIssue);
  const { what, hint } = toWords(first.issue, first.path, value);
  const others = issues.filter((each) => each !== first);
  const toText = ({ issue, path }: PlacedIssue): string =>
    `${path.map(String).join('.')}: ${toWords(issue, path, value).what}`;
  const more = others.length > 0 ? ` (also ${joinFaults(others.map(toText))})` : '';
  return workloadFault(place, first.path, what + more, hint);
}

interface PlacedIssue {
  readonly issue: z.core.$ZodIssue;
  readonly path: readonly PropertyKey[];
}

/** Returns the fault of the form that the value came closest to. */
function deepest(issue: z.core.$ZodIssue, above: readonly PropertyKey[]): PlacedIssue {
  const path = [...above, ...issue.path];
  if (issue.code !== 'invalid_union') return { issue, path };
  const inner = issue.errors.flatMap((issues) => issues.slice(0, 1).map((each) => deepest(each, path)));
  return inner.reduce<PlacedIssue>((best, each) => (each.path.length > best.path.length ? each : best), {
    issue,
    path,
  });
}

interface FaultWords {
  readonly what: string;
  readonly hint: string;
}

function toWords(issue: z.core.$ZodIssue, path: readonly PropertyKey[], value: unknown): FaultWords {
  const { keys, description } = formAt(value, path);
  const what = issue.message.replace(/^Invalid input: /, '');
  const about = description === null ? SCHEMA_HINT : `${String(path.at(-1))}: ${lowerFirst(description)}`;
  switch (issue.code) {
    case 'unrecognized_keys': {
      const [key = ''] = issue.keys;
      const allowed = keys.length > 0 ? `here may stand ${keys.join(', ')}` : SCHEMA_HINT;
      return { what: `'${key}' is not known here${didYouMean(key, keys)}`, hint: allowed };
    }
    case 'invalid_type': {
      const isMissing = what.endsWith('received undefined');
      return { what: isMissing ? 'it is missing' : what, hint: `write ${toKind(issue.expected)}; ${about}` };
    }
    case 'too_small': {
      const least = issue.inclusive ? `${issue.minimum} or more` : `more than ${issue.minimum}`;
      return {
        what: `it is ${issue.origin === 'array' ? 'too short' : 'too small'}`,
        hint: `write ${least}; ${about}`,
      };
    }
    case 'too_big':
      return { what: 'it is too large', hint: `write ${issue.maximum} or less; ${about}` };
    case 'invalid_value':
      return { what, hint: `write ${issue.values.map(String).join(' or ')}` };
    case 'invalid_union':
      return path.at(-1) === 'process'
        ? { what: 'there is no such arrival process', hint: 'write constant, poisson, gamma, ramp, diurnal or trace' }
        : { what: lowerFirst(what), hint: about };
    default:
      return { what: lowerFirst(what), hint: about };
  }
}

const kinds: Readonly<Record<string, string>> = {
  object: 'names with values',
  record: 'names with values',
  array: 'a list',
  number: 'a number',
  int: 'a whole number',
  string: 'a text',
  boolean: 'true or false',
};
const toKind = (expected: string): string => kinds[expected] ?? expected;

const lowerFirst = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);
