import { stringify } from 'yaml';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { isJsonObject } from '#base/json.ts';
import { readDocument } from '#base/read-document.ts';
import { checkSeriesSpec, type SeriesSpec } from '#spec/series-spec.ts';
import { checkStudySpec, type StudySpec, specToJson } from '#spec/study-spec.ts';
import { withoutSecretValues } from '../server/headers.ts';

/** One study, or several that are tuned one after another. */
export type RequestedSpec = StudySpec | SeriesSpec;

export const isSeriesSpec = (spec: RequestedSpec): spec is SeriesSpec => 'studies' in spec;

/**
 * Returns the study, or the series, in a YAML or JSON file. Errors: INPUT_INVALID for an unreadable
 * file, USAGE with the path of a fault.
 */
export function readSpec(file: string): RequestedSpec {
  const value = readContent(file);
  return isJsonObject(value) && 'studies' in value ? checkSeriesSpec(value, file) : checkStudySpec(value, file);
}

/**
 * Returns the text of a file for `readSpec`: YAML, with all defaults written out, and without
 * secrets.
 */
export function printSpec(spec: RequestedSpec): string {
  const shown = (study: StudySpec) => specToJson({ ...study, server: withoutSecretValues(study.server) });
  const value = isSeriesSpec(spec) ? { ...spec, studies: spec.studies.map(shown) } : shown(spec);
  return stringify(value, { aliasDuplicateObjects: false }).trimEnd();
}

function readContent(file: string): unknown {
  try {
    return readDocument(file);
  } catch (error) {
    throw new TrituneError(
      'INPUT_INVALID',
      `cannot read ${file}: ${formatMessage(error)}`,
      'give a YAML or JSON file (docs/study-spec.md)',
    );
  }
}
