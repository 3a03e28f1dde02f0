import { TrituneError } from '#base/errors.ts';
import { type ClientBatch, type CountedRequests, servingClients, showSingleSamples } from '#space/client-batches.ts';
import type { SearchSpace } from '#space/types.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { StartedClients } from '#study/records/records.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { OpenStudy } from '../../study/study.ts';
import { type TritonModels, toConfigs } from './models.ts';

/**
 * The clients of the models of a study, which each candidate must serve as the original config
 * does.
 */
export interface ServedClients {
  /** Returns the space of a model without candidates that take from its clients what they have. */
  serving(space: SearchSpace, model: string, original: ModelConfig): SearchSpace;
  /** Returns what was left out so far, model by model. */
  told(): readonly StartedClients[];
}

/**
 * Returns the clients of the models. null where every candidate is chosen by the user: a list of
 * candidates, or a recording; and for a resumed study, whose space is fixed. Errors: USAGE for more
 * samples than the original configs take.
 */
export function connectClients(
  { spec, sampler, started }: Pick<OpenStudy, 'spec' | 'sampler' | 'started'>,
  models: TritonModels,
): ServedClients | null {
  if (started || sampler.name === 'manual' || spec.recording) return null;
  checkClientBatch(spec, models);
  const called = new Set(Object.values(models.together?.topology.calls ?? {}).flat());
  const allClients: StartedClients[] = [];
  return {
    serving: (space, model, original) => {
      // The code of a BLS model is a client, too, and nobody stated what it sends.
      const counted = models.counted?.get(model) ?? null;
      const batch = toClientBatch(spec, original.max_batch_size ?? 0, called.has(model), counted);
      const serving = servingClients(space, original, batch);
      if (serving.leftOut.length > 0 || batch.basis !== 'config')
        allClients.push({
          model,
          ...batch,
          original: original.max_batch_size ?? 0,
          leftOut: serving.leftOut,
          ...(batch.basis === 'counters' && { requests: counted?.requests }),
        });
      return serving.space;
    },
    told: () => allClients,
  };
}

function toClientBatch(
  { traffic, levels }: StudySpec,
  original: number,
  isCalled: boolean,
  counted: CountedRequests | null,
): ClientBatch {
  const { clientBatch } = traffic;
  const isShown = clientBatch === undefined && counted !== null && showSingleSamples(counted);
  if (isCalled || (clientBatch === undefined && !isShown)) return { largest: original, basis: 'config' };
  const sent = Math.max(clientBatch ?? 1, levels.batch?.high ?? traffic.batch);
  return { largest: Math.min(original, sent), basis: isShown ? 'counters' : 'option' };
}

function checkClientBatch({ traffic: { clientBatch }, model }: StudySpec, models: TritonModels): void {
  const most = Math.max(...Object.values(toConfigs(models)).map((config) => config.max_batch_size ?? 0));
  if (clientBatch === undefined || clientBatch <= Math.max(1, most)) return;
  throw new TrituneError(
    'USAGE',
    `--client-batch ${clientBatch}: the config of '${model}' takes ${most} samples in a request at most`,
    'give the largest batch that your clients send, or raise max_batch_size first',
  );
}
