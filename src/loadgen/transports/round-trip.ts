import { connect } from 'node:net';
import { realClock } from '#base/clock.ts';
import { NS_PER_MS } from '#base/units.ts';

const CONNECTIONS = 5;
const LIMIT_MS = 1000;
const PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

/**
 * Returns the shortest time in milliseconds in which a TCP connection to a server opens, which is
 * one round trip of the network. `address`: HOST:PORT or a URL. undefined if none opens within a
 * second.
 */
export async function measureRoundTripMs(address: string): Promise<number | undefined> {
  const place = readPlace(address);
  if (!place) return undefined;
  let leastMs: number | undefined;
  for (let connection = 0; connection < CONNECTIONS; connection++) {
    const ms = await timeConnection(place.host, place.port);
    if (ms === null) return leastMs;
    leastMs = Math.min(leastMs ?? ms, ms);
  }
  return leastMs;
}

function readPlace(address: string): { readonly host: string; readonly port: number } | null {
  const url = URL.parse(address.includes('://') ? address : `tcp://${address}`);
  const port = url ? Number(url.port) || PORTS[url.protocol] : undefined;
  if (!url || !port || url.hostname === '') return null;
  return { host: url.hostname.replace(/^\[|\]$/g, ''), port };
}

/** Returns the milliseconds until a connection is open; null if it is not within a second. */
function timeConnection(host: string, port: number): Promise<number | null> {
  const startNs = realClock.nowNs();
  return new Promise((resolve) => {
    const socket = connect({ host, port });
    const end = (ms: number | null): void => {
      socket.destroy();
      resolve(ms);
    };
    socket.setTimeout(LIMIT_MS, () => end(null));
    socket.once('error', () => end(null));
    socket.once('connect', () => end((realClock.nowNs() - startNs) / NS_PER_MS));
  });
}
