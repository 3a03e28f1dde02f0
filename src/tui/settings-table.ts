import type { Candidate } from '#space/types.ts';
import { ABSENT, type ComparedSettings, changedSettings, settingsOfStudy } from '#study/analysis/settings.ts';
import type { StudyState } from '#study/records/state.ts';
import { describeAssignment } from '#study/summary/describe.ts';
import { foreign } from './rows.ts';

/** A parameter in which trials of the study differ. */
export interface VariedParameter {
  /** As in assignments; `MODEL/PARAMETER` for one of several models. */
  readonly name: string;
  /** The model's part of the name; '' for a single model. */
  readonly model: string;
  readonly parameter: string;
  /** The longest text among its values. */
  readonly longest: number;
  /**
   * Higher for a parameter that says more about the trials: the best differs in it from the
   * original, then by its number of values.
   */
  readonly weight: number;
}

/** The settings of all trials: the columns in which they differ, and what all have in common. */
export interface SettingsTable {
  /** All parameters, in the order of the search space. */
  readonly names: readonly string[];
  /** In the order of the search space. */
  readonly varied: readonly VariedParameter[];
  /** `name=value` of what a search sets and all trials share, in the order of the space. */
  readonly constant: string;
  /** Returns the text of a parameter's value; `–` for one without effect. */
  cell(candidate: Candidate, name: string): string;
  /** Returns what the candidate changes of the original config, on one line. */
  changes(candidate: Candidate): string;
}

const tables = new WeakMap<StudyState, SettingsTable>();

/** Returns the table of a state, made once. */
export function createSettingsTable(study: StudyState): SettingsTable {
  const table = tables.get(study) ?? makeTable(study);
  tables.set(study, table);
  return table;
}

const NO_VALUE = '–';
/** Longer values, such as lists, are cut. */
const MAX_VALUE = 12;

function makeTable(study: StudyState): SettingsTable {
  const { trials, unfinished, started, best } = study;
  const tried = [...trials, ...(unfinished ? [unfinished] : [])];
  const settings = settingsOfStudy(started, tried);
  const read = reader(settings);
  const { names } = settings;
  const valuesByName = names.map((_, index) => new Set(tried.map(({ candidate }) => read(candidate)[index] as string)));
  const [before, after] = [read(started.original), best && read(best.candidate)];
  const isVaried = (index: number): boolean => (valuesByName[index]?.size ?? 0) > 1;
  const varied = names.flatMap((name, index): VariedParameter[] => {
    if (!isVaried(index)) return [];
    const values = [...(valuesByName[index] ?? [])];
    const isChanged = after !== null && after[index] !== before[index];
    return [
      {
        name,
        ...toParts(name),
        longest: Math.max(...values.map(({ length }) => length)),
        weight: values.length + (isChanged ? names.length + tried.length : 0),
      },
    ];
  });
  const assigned = new Set(tried.flatMap(({ candidate }) => Object.keys(candidate.assignment)));
  const constant = names.filter((name, index) => assigned.has(name) && !isVaried(index));
  return {
    names,
    varied,
    constant:
      constant.length === 0
        ? ''
        : foreign(
            describeAssignment(
              Object.fromEntries(constant.map((name) => [name, before[names.indexOf(name)] as string])),
            ),
          ),
    cell: (candidate, name) => read(candidate)[names.indexOf(name)] ?? NO_VALUE,
    changes: (candidate) => foreign(describeAssignment(changedSettings(settings, started.original, candidate))),
  };
}

/** Reads each candidate once. */
function reader({ of }: ComparedSettings): (candidate: Candidate) => readonly string[] {
  const known = new WeakMap<Candidate, readonly string[]>();
  return (candidate) => {
    const texts =
      known.get(candidate) ?? of(candidate).map((text) => (text === ABSENT ? NO_VALUE : foreign(text, MAX_VALUE)));
    known.set(candidate, texts);
    return texts;
  };
}

function toParts(name: string): Pick<VariedParameter, 'model' | 'parameter'> {
  const slash = name.indexOf('/');
  return { model: name.slice(0, Math.max(0, slash)), parameter: name.slice(slash + 1) };
}
