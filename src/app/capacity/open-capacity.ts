import { realClock } from '#base/clock.ts';
import type { CapacitySpec } from '#spec/capacity-spec.ts';
import { findService } from '../profile/find-service.ts';
import { openOutlasting } from '../profile/outlast.ts';
import { planProfile } from '../profile/plan.ts';
import type { ServedTarget, Service, ServiceKind, ServiceSetting } from '../profile/service.ts';

/** A service on which the loads of a search for its capacity are played. */
export interface OpenCapacity {
  readonly service: Service;
  readonly target: ServedTarget;
  readonly requestTimeoutSeconds: number;
  close(): Promise<void>;
}

/** Language models take long to reply. */
const LANGUAGE_TIMEOUT_S = 600;
const USUAL_TIMEOUT_S = 30;

/** Opens a service of any kind. Errors: USAGE, INPUT_INVALID, MODEL_*, SERVER_*, LAUNCH_FAILED. */
export async function openCapacity(
  kind: ServiceKind,
  { burst: _, ...rest }: CapacitySpec,
  setting: ServiceSetting,
): Promise<OpenCapacity> {
  const isUsual = kind === 'language' && rest.requestTimeout === USUAL_TIMEOUT_S;
  const requestTimeout = isUsual ? LANGUAGE_TIMEOUT_S : rest.requestTimeout;
  const options = {
    ...rest,
    requestTimeout,
    latencyThreshold: 0,
    traceSpeed: 1,
    ...(rest.workload === undefined && { requestRateRange: { start: 1, end: 1, step: 1 } }),
  };
  const service = await findService[kind](options, await planProfile(options, false), setting);
  try {
    const target = await openOutlasting(service.open, {
      ...setting,
      clock: realClock,
      maxOutageSeconds: rest.maxOutage,
      hasAnswered: service.hasAnswered,
    });
    const close = async (): Promise<void> => {
      await target.close();
      await service.close();
    };
    return { service, target, requestTimeoutSeconds: requestTimeout, close };
  } catch (error) {
    await service.close();
    throw error;
  }
}
