import type { Measurement } from '../measurement.ts';

/** The client's own parts of a request's time, in microseconds. */
export interface ClientPartsUs {
  /** To make the request and to hand it to the kernel. */
  readonly sendUs: number;
  /** From the first bytes of the reply until it has been read. */
  readonly receiveUs: number;
}

/** Returns the mean parts of a measurement, "Client Send" and "Client Recv" of perf_analyzer's tables; null where no request was timed. */
export function clientPartsOf({ clientTimes }: Pick<Measurement, 'clientTimes'>): ClientPartsUs | null {
  if (!clientTimes) return null;
  const { marshalUs, sendUs, receiveUs, unmarshalUs } = clientTimes;
  return { sendUs: marshalUs + sendUs, receiveUs: receiveUs + unmarshalUs };
}
