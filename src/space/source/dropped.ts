import { formatPath } from '../edits/config-path.ts';
import type { JoinedParameter, JoinedSpace, Placed } from './inherit.ts';
import { knownKnob } from './known-knobs.ts';
import { findTarget } from './parameter.ts';
import type { ConditionFile, RuleFile } from './schema.ts';
import { spaceInvalid } from './source-fault.ts';

/**
 * Lets the rest of a space do without its dropped parameters: where a condition, a rule or the law
 * names one, it reads the field that the parameter would have set in the base config. Errors:
 * SPACE_INVALID for a parameter that is named and has several fields.
 */
export function readDroppedFields(joined: JoinedSpace): JoinedSpace {
  if (joined.dropped.size === 0) return joined;
  const rename = (name: string): string => {
    const dropped = joined.dropped.get(name);
    return dropped === undefined ? name : toSubject(name, dropped, joined.engine !== null);
  };
  return {
    ...joined,
    parameters: new Map([...joined.parameters].map(([name, one]) => [name, renameInParameter(one, rename)])),
    rules: joined.rules.map((rule) => ({ ...rule, value: renameInRule(rule.value, rename) })),
    law: joined.law && {
      ...joined.law,
      value: Object.fromEntries(
        Object.entries(joined.law.value).map(([field, value]) => [
          field,
          typeof value === 'string' ? renameInExpression(value, rename) : value,
        ]),
      ),
    },
  };
}

type Rename = (name: string) => string;

/** A short name stays: without a parameter it means the field of the base config anyway. */
function toSubject(name: string, { value, place, path }: Placed<JoinedParameter>, isOfEngine: boolean): string {
  if (value.spec.path === undefined && knownKnob(name) !== undefined) return name;
  if ([value.spec, ...(value.spec.cases ?? [])].some(({ choices }) => choices !== undefined)) {
    const reason = `a rule or a condition reads '${name}', whose choices set several fields: drop or replace that as well`;
    throw spaceInvalid(place, path, reason);
  }
  return `base.${formatPath(findTarget(name, value, isOfEngine).path)}`;
}

function renameInParameter({ spec, findPlace }: JoinedParameter, rename: Rename): JoinedParameter {
  return {
    spec: {
      ...spec,
      ...(spec.when && { when: renameInCondition(spec.when, rename) }),
      ...(spec.cases && {
        cases: spec.cases.map((each) => ({
          ...each,
          ...(each.when && { when: renameInCondition(each.when, rename) }),
        })),
      }),
    },
    findPlace,
  };
}

function renameInRule(rule: RuleFile, rename: Rename): RuleFile {
  return {
    ...rule,
    ...(rule.when && { when: renameInCondition(rule.when, rename) }),
    require: renameInExpression(rule.require, rename),
  };
}

function renameInCondition(condition: ConditionFile, rename: Rename): ConditionFile {
  const { any, not, ...tests } = condition;
  return {
    ...Object.fromEntries(Object.entries(tests).map(([subject, test]) => [rename(subject), test])),
    ...(any && { any: any.map((inner) => renameInCondition(inner, rename)) }),
    ...(not && { not: renameInCondition(not, rename) }),
  };
}

/** Texts in quotes, and names with what follows their dots and brackets. */
const word = /'[^']*'|"[^"]*"|(?<!\w)[A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\[[^\]]*\])*/g;

const renameInExpression = (text: string, rename: Rename): string => text.replace(word, rename);
