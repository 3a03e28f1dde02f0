import type { StudySpec } from '../../spec/study-spec.ts';
import { foldStudy } from '../../study/records/fold.ts';
import type { StudyRecord } from '../../study/records/records.ts';
import type { PriorStudy } from '../../study/search/samplers/prior-studies.ts';
import { recordsIn } from '../output/documents.ts';

/**
 * Returns the earlier studies of a spec, which its sampler starts from. None if the study has begun
 * to search: their directories are no longer needed. Errors: JOURNAL_INVALID, USAGE for the
 * directory of a series.
 */
export async function readPriors(
  { sampler: { priors = [] } }: Pick<StudySpec, 'sampler'>,
  earlier: readonly StudyRecord[] = [],
): Promise<readonly PriorStudy[]> {
  if (earlier.some((record) => record.type === 'trial-started' && record.role === 'search')) return [];
  return Promise.all(
    priors.map(async (name) => {
      const { compared } = foldStudy(await recordsIn(name));
      return { name, trials: compared.trials };
    }),
  );
}
