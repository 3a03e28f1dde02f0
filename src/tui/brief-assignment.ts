import type { Assignment } from '../space/types.ts';
import type { StudyState } from '../study/records/state.ts';
import { describeAssignment, describeValue } from '../study/summary/describe.ts';
import { foreign } from './rows.ts';

/**
 * Returns the assignment in this width, starting with the parameters that distinguish trials. If it is too long, abbreviates a parameter to the
 * first word of its name, unless another one begins with it. For several models, abbreviates names to their first letters and leaves out parameters
 * that are the same in all trials.
 */
export function briefly(assignment: Assignment, study: StudyState, width: number): string {
  const variety = varietyOf(study);
  const entries = Object.entries(assignment).sort(([a], [b]) => (variety.get(b) ?? 0) - (variety.get(a) ?? 0));
  const whole = foreign(describeAssignment(Object.fromEntries(entries)));
  if (whole.length <= width) return whole;
  if (study.started.topology) return ofModels(assignment, variety);
  const first = (name: string): string => name.split('_')[0] as string;
  const isOwn = (name: string): boolean =>
    [...variety.keys()].filter((each) => first(each) === first(name)).length <= 1;
  const short = entries.map(([name, value]) => [isOwn(name) ? first(name) : name, value]);
  return foreign(describeAssignment(Object.fromEntries(short)));
}

const varieties = new WeakMap<StudyState, ReadonlyMap<string, number>>();

/** Returns the number of values of each parameter among the trials. */
function varietyOf(study: StudyState): ReadonlyMap<string, number> {
  const known = varieties.get(study);
  if (known) return known;
  const values = new Map<string, Set<string>>();
  for (const { candidate } of study.trials) {
    for (const [name, value] of Object.entries(candidate.assignment)) {
      values.set(name, (values.get(name) ?? new Set()).add(JSON.stringify(value)));
    }
  }
  const variety = new Map([...values].map(([name, seen]) => [name, seen.size] as const));
  varieties.set(study, variety);
  return variety;
}

/** `enc ins=2 max=8, head ins=1`. */
function ofModels(assignment: Assignment, variety: ReadonlyMap<string, number>): string {
  const parts = (name: string): readonly [model: string, parameter: string] => {
    const slash = name.indexOf('/');
    return [name.slice(0, slash), name.slice(slash + 1)];
  };
  const all = [...variety.keys()].map(parts);
  const [models, parameters] = [all.map(([model]) => model), all.map(([, parameter]) => parameter)];
  const entries = Object.entries(assignment);
  const differing = entries.filter(([name]) => (variety.get(name) ?? 0) > 1);
  const byModel = Map.groupBy(differing.length > 0 ? differing : entries, ([name]) => parts(name)[0]);
  const texts = [...byModel].map(([model, own]) => {
    const set = own.map(([name, value]) => `${beginning(parts(name)[1], parameters)}=${describeValue(value)}`);
    return `${beginning(model, models)} ${set.join(' ')}`;
  });
  return foreign(texts.join(', '));
}

const LEAST_LETTERS = 3;

/** Returns the shortest unique beginning of the name. */
function beginning(name: string, among: readonly string[]): string {
  const others = among.filter((other) => other !== name);
  for (let letters = LEAST_LETTERS; letters < name.length; letters++) {
    const start = name.slice(0, letters);
    if (!others.some((other) => other.startsWith(start))) return start;
  }
  return name;
}
