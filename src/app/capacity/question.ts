import { TrituneError } from '#base/errors.ts';
import { formatMs } from '#base/format.ts';
import { nsToMs } from '#base/units.ts';
import type { CapacityQuestion } from '#capacity/question.ts';
import type { CapacityLimit } from '#capacity/reading.ts';
import type { CapacitySpec } from '#spec/capacity-spec.ts';
import type { AnyProtocol } from '../server/find-protocol.ts';

/**
 * Returns the question in the options. `hasLimits`: the classes of the workload have their own
 * limits. Errors: USAGE.
 */
export function toQuestion(
  options: AnyProtocol<CapacitySpec>,
  {
    batch,
    followsHost,
    hasLimits,
  }: { readonly batch: number; readonly followsHost: boolean; readonly hasLimits: boolean },
): CapacityQuestion {
  const { burst, recoverWithin, forRate, holdChance, headroom, replicaSpread, workload } = options;
  if (recoverWithin !== undefined && !burst)
    throw usage('--recover-within needs a burst', 'add --burst, such as --burst 2x:30s');
  if (burst && workload !== undefined)
    throw usage('--burst cannot be used with --workload, which has its own bursts', 'leave out --burst');
  if (recoverWithin !== undefined && options.latencyBudget === undefined) {
    throw usage('--recover-within needs a latency budget', 'add --latency-budget MS');
  }
  return {
    limit: findLimit(options, hasLimits),
    batch,
    precision: options.precision / 100,
    mostSeconds: options.timeBudget,
    followsHost,
    burst: burst ? { ...burst, recoverSeconds: recoverWithin ?? null } : null,
    replicas:
      forRate === undefined
        ? null
        : {
            perSecond: forRate,
            headroom: headroom / 100,
            chance: holdChance / 100,
            spread: replicaSpread / 100,
          },
  };
}

function findLimit(
  { latencyBudget, goodput, percentile }: AnyProtocol<CapacitySpec>,
  hasLimits: boolean,
): CapacityLimit {
  if (latencyBudget !== undefined) {
    if (goodput) throw usage('--latency-budget and --goodput cannot be used together', 'leave one of them out');
    if (hasLimits) {
      throw usage("the workload's classes have limits of their own", 'leave out --latency-budget, or their limits');
    }
    return { kind: 'latency', percentile, budgetMs: latencyBudget };
  }
  if (!goodput && !hasLimits) {
    throw usage('the latency budget is missing', "add --latency-budget MS, or --goodput 'ttft<=200ms tpot<=15ms'");
  }
  const limits = Object.entries(goodput ?? {}).map(
    ([name, ns]) => `${name.replace(/Ns$/, '')} ${formatMs(nsToMs(ns))}`,
  );
  return { kind: 'goodput', percentile, limits: limits.join(', ') || 'the limits of the workload' };
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
