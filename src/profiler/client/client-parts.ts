import type { Measurement } from '../measurement.ts';

/** The client's own parts of a request's time, in microseconds. */
export interface ClientPartsUs {
  /** Time to make the request and hand it to the kernel. */
  readonly sendUs: number;
  /** Time from the first bytes of the reply until all of it has been read. */
  readonly receiveUs: number;
}

/**
 * Returns the mean parts of a measurement, "Client Send" and "Client Recv" in perf_analyzer's
 * tables; null if no request was timed.
 */
export function computeClientParts({ clientTimes }: Pick<Measurement, 'clientTimes'>): ClientPartsUs | null {
  if (!clientTimes) return null;
  const { marshalUs, sendUs, receiveUs, unmarshalUs } = clientTimes;
  return { sendUs: marshalUs + sendUs, receiveUs: receiveUs + unmarshalUs };
}
