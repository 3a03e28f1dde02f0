import type { InferRequest, PreparedRequest, Transport } from '../types.ts';

/** A request, prepared for each of the servers. */
interface DividedRequest extends PreparedRequest {
  readonly prepared: readonly PreparedRequest[];
}

/**
 * Divides requests among servers as a balancer of least connections does: each goes to the server
 * with the fewest requests in flight from here, to the next in turn among equals.
 */
export function dividedTransport(transports: readonly Transport[]): Transport<DividedRequest> {
  const inFlight = transports.map(() => 0);
  let turn = 0;
  const chooseServer = (): number => {
    let best = turn;
    for (let step = 1; step < inFlight.length; step++) {
      const place = (turn + step) % inFlight.length;
      if ((inFlight[place] as number) < (inFlight[best] as number)) best = place;
    }
    turn = (best + 1) % inFlight.length;
    return best;
  };
  return {
    prepare: (request: InferRequest) => ({
      request,
      prepared: transports.map((transport) => transport.prepare(request)),
    }),
    send: ({ prepared }, done) => {
      const server = chooseServer();
      inFlight[server] = (inFlight[server] as number) + 1;
      (transports[server] as Transport).send(prepared[server] as PreparedRequest, (outcome) => {
        inFlight[server] = (inFlight[server] as number) - 1;
        done(outcome);
      });
    },
    close: async () => {
      await Promise.all(transports.map((transport) => transport.close()));
    },
  };
}
