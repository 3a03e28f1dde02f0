import type { FrontTraffic } from '#adapter/triton/front-options.ts';
import type { TensorProfileOptions } from '#adapter/triton/profile.ts';
import type { PreparedInputs } from '#loadgen/inputs.ts';
import { configOfModel } from '#space/model-configs.ts';
import type { Candidate } from '#space/types.ts';
import type { RequestDistribution } from '#spec/study-spec.ts';
import type { OpenServer } from '../server/open-server.ts';
import { type OpenTraffic, openTraffic, type TrafficOrder } from './open-traffic.ts';
import { rateSchedule } from './schedule.ts';

/**
 * The senders for the fronts of a study, each with its own threads, in the form that a profile
 * takes.
 */
export interface OpenFronts {
  readonly traffic: FrontTraffic & Required<Pick<TensorProfileOptions, 'otherFronts'>>;
  /** Returns requests with other inputs to the front at this place, in the form of its traffic. */
  requestsFrom(place: number, inputs: PreparedInputs): FrontTraffic['requestsFor'];
  /** Closes the sockets and frees shared memory. */
  close(): Promise<void>;
}

/**
 * Opens the traffic of each front, the study's first. Errors: USAGE, UNSUPPORTED, SERVER_FAILED; on
 * an error, leaves nothing open.
 */
export async function openFronts(
  opened: Pick<OpenServer, 'client' | 'server' | 'tls' | 'headers'>,
  fronts: readonly [TrafficOrder, ...TrafficOrder[]],
  requestDistribution: RequestDistribution,
): Promise<OpenFronts> {
  const open: OpenTraffic[] = [];
  const close = async (): Promise<void> => {
    for (const traffic of open) await traffic.close();
  };
  try {
    for (const front of fronts) open.push(await openTraffic(opened, front));
  } catch (error) {
    await close();
    throw error;
  }
  const [first, ...otherFronts] = open.map((traffic, index) =>
    frontTraffic(traffic, fronts[index] as TrafficOrder, requestDistribution),
  );
  return {
    traffic: { ...(first as FrontTraffic), otherFronts },
    requestsFrom: (place, inputs) => createRequests(open[place] as OpenTraffic, fronts[place] as TrafficOrder, inputs),
    close,
  };
}

function createRequests(
  traffic: OpenTraffic,
  { config }: TrafficOrder,
  inputs?: PreparedInputs,
): FrontTraffic['requestsFor'] {
  const configIn = (candidate: Candidate) => configOfModel(candidate, config.name ?? '', config);
  return (candidate, batch) => traffic.requestsFor(configIn(candidate), batch, inputs);
}

function frontTraffic(
  traffic: OpenTraffic,
  requestedTraffic: TrafficOrder,
  requestDistribution: RequestDistribution,
): FrontTraffic {
  return {
    ...traffic.sending,
    requestsFor: createRequests(traffic, requestedTraffic),
    scheduleAt: (perSecond) => rateSchedule({ requestDistribution, seed: requestedTraffic.spec.seed }, perSecond),
  };
}
