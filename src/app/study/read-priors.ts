import { stat } from 'node:fs/promises';
import { TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import { explanationSchema } from '#explain/explanation.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { foldStudy } from '#study/records/fold.ts';
import type { StudyRecord } from '#study/records/records.ts';
import type { Prior, PriorProposal } from '#study/search/samplers/prior-studies.ts';
import { readJsonFile } from '../explain/read-json.ts';
import { recordsIn } from '../run-documents.ts';

/**
 * Returns what a spec's sampler starts from: earlier studies, by their directories, and what
 * `explain --json` proposed, by its files. Nothing if the study has begun to search: they are no
 * longer needed. Errors: JOURNAL_INVALID, INPUT_INVALID, USAGE for the directory of a series.
 */
export async function readPriors(
  { sampler: { priors = [] }, model }: Pick<StudySpec, 'sampler' | 'model'>,
  earlier: readonly StudyRecord[] = [],
): Promise<readonly Prior[]> {
  if (earlier.some((record) => record.type === 'trial-started' && record.role === 'search')) return [];
  return Promise.all(
    priors.map(async (name) => {
      if (await isFile(name)) return readProposal(name, model);
      const { compared } = foldStudy(await recordsIn(name));
      return { name, trials: compared.trials };
    }),
  );
}

const isFile = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => !found.isDirectory(),
    () => false,
  );

/** Returns what `explain --json` proposed for the model. Errors: INPUT_INVALID. */
export async function readProposal(path: string, model: string): Promise<PriorProposal> {
  const { models } = await readJsonFile(path, explanationSchema, 'give a file that explain --json wrote');
  const refuse = (reason: string, hint: string): never => {
    throw new TrituneError('INPUT_INVALID', `${path}: ${reason}`, hint);
  };
  const explained = models.find((each) => each.model === model);
  if (!explained) {
    const known = models.map((each) => each.model);
    return refuse(`it does not explain '${model}'`, `it has ${known.length > 0 ? listed(known) : 'no model'}`);
  }
  const { proposal } = explained;
  if (!proposal) return refuse(`it proposes no other config of '${model}'`, 'leave --prior out');
  const requestsPerSecond = proposal.ceiling.value;
  const inFlight = (requestsPerSecond * (proposal.latencyMs?.mean ?? explained.timesMs.request)) / 1e3;
  return { name: path, proposal: { assignment: proposal.assignment, requestsPerSecond, inFlight } };
}
