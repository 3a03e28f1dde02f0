import type { Hardware } from '#capacity/hardware.ts';
import type { CapacityState } from '#capacity/state.ts';
import type { CapacitySpec } from '#spec/capacity-spec.ts';
import type { CostTerms } from '#study/records/goal-schema.ts';
import type { ServedTarget } from '../profile/service.ts';
import type { AnyProtocol } from '../server/find-protocol.ts';
import { toCostTerms } from '../study/cost-terms.ts';

/**
 * Returns the prices that count; null without any. Errors: USAGE, INPUT_INVALID as `toCostTerms`.
 */
export function capacityTerms({
  prices,
  gpu,
  serverGpus,
  instanceType,
  headroom,
  holdChance,
}: AnyProtocol<CapacitySpec>): CostTerms | null {
  if (prices === undefined && gpu === undefined && instanceType === undefined) return null;
  const cost = {
    ...(gpu !== undefined && { gpu }),
    ...(serverGpus !== undefined && { serverGpus }),
    ...(instanceType !== undefined && { instanceType }),
    headroomPercent: headroom,
    holdPercent: holdChance,
  };
  return toCostTerms({ prices, cost }) ?? null;
}

/**
 * Returns the hardware of the measured server: the GPUs that the user states, or those that its
 * metrics show, and the prices.
 */
export function readHardware(
  spec: CapacitySpec,
  { countGpus }: Pick<ServedTarget, 'countGpus'>,
  { answer, probes, closed }: CapacityState,
): Hardware {
  const terms = capacityTerms(spec);
  const seen = [answer, ...probes, ...closed].flatMap((measurement) => measurement?.device.gpus?.length ?? []);
  const gpus = countGpus({ stated: spec.serverGpus ?? terms?.serverGpus, reported: seen[0] });
  return { gpus: gpus ?? null, terms };
}
