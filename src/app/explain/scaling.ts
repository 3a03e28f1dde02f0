import { TrituneError } from '#base/errors.ts';
import { listed } from '#base/format.ts';
import type { ServiceExplanation } from '#explain/explanation.ts';
import { describeBudget } from '#explain/words.ts';
import { emitAutoscalers, type ScalingQuestion } from '../emit-autoscaler.ts';

/**
 * Returns the explanation with the autoscalers whose objects were written, by the predicted ceiling
 * of the only model that was explained. Errors: USAGE for another number of models, or for one
 * whose ceiling is unknown; OUTPUT_UNWRITABLE.
 */
export async function withAutoscalers(
  explanation: ServiceExplanation,
  question: ScalingQuestion | null,
): Promise<ServiceExplanation> {
  if (!question) return explanation;
  const { models, budget } = explanation;
  const [model] = models;
  if (!model || models.length > 1) {
    const names = listed(models.map((each) => each.model));
    throw new TrituneError(
      'USAGE',
      models.length > 1 ? `--emit needs one model, but ${names} had requests` : '--emit needs a model with requests',
      models.length > 1 ? 'name one with -m' : 'look again while it has some',
    );
  }
  if (!model.present) {
    throw new TrituneError(
      'USAGE',
      `nothing is emitted: the ceiling of '${model.model}' is unknown`,
      'measure it with tritune capacity --emit',
    );
  }
  const { ceiling } = model.present;
  const replica = {
    model: model.model,
    capacity: ceiling,
    budgetMs: budget.latencyMs,
    limit: describeBudget(budget) ?? 'any latency',
    isPredicted: true,
    saturationPerSecond: ceiling.value,
    recoverySeconds: 0,
  };
  return { ...explanation, autoscalers: await emitAutoscalers(question, replica) };
}
