import { z } from 'zod';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { readDocument } from '#base/read-document.ts';
import { onOff } from '#space/edits/config-fields.ts';
import type { Assignment } from '#space/types.ts';
import type { SpaceView } from '#study/search/samplers/space-view.ts';
import { describeAssignment } from '#study/summary/describe.ts';

const list = z.array(z.record(z.string(), z.json())).min(1);

/**
 * Returns the assignments in a YAML or JSON file: a list of objects from parameter to value, as in
 * `summary.json`. Errors: USAGE without a file; INPUT_INVALID for a file without such a list, or an
 * assignment that the space does not allow.
 */
export function readCandidates(file: string | undefined, space: SpaceView): readonly Assignment[] {
  if (file === undefined) {
    const hint = 'add --candidates FILE';
    throw new TrituneError('USAGE', '--sampler manual needs a list of candidates', hint);
  }
  const outcome = list.safeParse(readContent(file));
  if (!outcome.success) throw invalid(file, outcome.error.issues[0]?.message ?? 'it is not a list');
  return outcome.data.map((written) => {
    const built = space.build(written);
    if (built.legal) return written;
    const assignment = withOnOff(written);
    if (space.build(assignment).legal) return assignment;
    throw invalid(file, `${describeAssignment(written)}: ${built.reason}`);
  });
}

const withOnOff = (written: Assignment): Assignment =>
  Object.fromEntries(Object.entries(written).map(([name, value]) => [name, onOff(value)]));

function readContent(file: string): unknown {
  try {
    return readDocument(file);
  } catch (error) {
    throw invalid(file, formatMessage(error));
  }
}

function invalid(file: string, what: string): TrituneError {
  return new TrituneError(
    'INPUT_INVALID',
    `${file} is not a list of candidates: ${what}`,
    'write parameters of the search space, such as [{"instances": 2, "max_batch_size": 8}]',
  );
}
