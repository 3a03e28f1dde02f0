import { stat } from 'node:fs/promises';
import { formatMessage, TrituneError } from '../../base/errors.ts';
import { listed } from '../../base/format.ts';
import { fileLimits, readText } from '../../base/read-file.ts';
import { explanationSchema } from '../../explain/explanation.ts';
import type { StudySpec } from '../../spec/study-spec.ts';
import { foldStudy } from '../../study/records/fold.ts';
import type { StudyRecord } from '../../study/records/records.ts';
import type { Prior, PriorProposal } from '../../study/search/samplers/prior-studies.ts';
import { recordsIn } from '../output/documents.ts';

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
  const refuse = (reason: string, hint = 'give a file that explain --json wrote'): never => {
    throw new TrituneError('INPUT_INVALID', `${path}: ${reason}`, hint);
  };
  const text = await readText(path, fileLimits.results).catch((error: unknown) => refuse(formatMessage(error)));
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (error) {
    return refuse(formatMessage(error));
  }
  const { data, error } = explanationSchema.safeParse(json);
  if (!data) return refuse(`${error.issues[0]?.path.join('.')}: ${error.issues[0]?.message}`);
  const explained = data.models.find((each) => each.model === model);
  if (!explained) {
    const known = data.models.map((each) => each.model);
    return refuse(`it does not explain '${model}'`, `it has ${known.length > 0 ? listed(known) : 'no model'}`);
  }
  const { proposal } = explained;
  if (!proposal) return refuse(`it proposes no other config of '${model}'`, 'leave --prior out');
  const requestsPerSecond = proposal.ceiling.value;
  const inFlight = (requestsPerSecond * (proposal.latencyMs?.mean ?? explained.timesMs.request)) / 1e3;
  return { name: path, proposal: { assignment: proposal.assignment, requestsPerSecond, inFlight } };
}
