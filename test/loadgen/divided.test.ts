import { expect, it } from 'vitest';
import { dividedTransport } from '#loadgen/transports/divided.ts';
import type { InferRequest, PreparedRequest, SendOutcome, Transport } from '#loadgen/types.ts';

/** A transport whose requests end when the test says so, first come, first served. */
function heldTransport() {
  const open: ((outcome: SendOutcome) => void)[] = [];
  let closed = 0;
  const transport: Transport = {
    prepare: (request) => ({ request }),
    send: (_prepared: PreparedRequest, done) => {
      open.push(done);
    },
    close: () => {
      closed++;
      return Promise.resolve();
    },
  };
  return { transport, open, end: () => open.shift()?.({ ok: true }), closed: () => closed };
}

const request: InferRequest = { model: 'm', version: '', inputs: [], batch: 1 };

it('sends in turn while all servers are as busy, and else to the least busy', async () => {
  const servers = [heldTransport(), heldTransport(), heldTransport()];
  const divided = dividedTransport(servers.map(({ transport }) => transport));
  const prepared = divided.prepare(request);
  const outcomes: SendOutcome[] = [];
  const send = () => divided.send(prepared, (outcome) => outcomes.push(outcome));
  const inFlight = () => servers.map(({ open }) => open.length);
  for (let sent = 0; sent < 6; sent++) send();
  expect(inFlight()).toEqual([2, 2, 2]);
  // The second is fast: it gets what it ends.
  for (let sent = 0; sent < 5; sent++) {
    servers[1]?.end();
    send();
    expect(inFlight()).toEqual([2, 2, 2]);
  }
  servers[2]?.end();
  servers[2]?.end();
  send();
  send();
  send();
  expect(inFlight().toSorted()).toEqual([2, 2, 3]);
  expect(outcomes).toHaveLength(7);
  await divided.close();
  expect(servers.map(({ closed }) => closed())).toEqual([1, 1, 1]);
});
