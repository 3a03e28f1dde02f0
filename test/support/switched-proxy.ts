import { connect, createServer, type Server, type Socket } from 'node:net';
import { listen } from './misbehaving-server.ts';
import { goAway } from './scripted-h2.ts';

/**
 * What stands between a client and a server: nothing, or something that holds every answer up,
 * swallows everything, cuts connections in one of three ways, or as good as no server at all. The
 * last three say GOAWAY on the HTTP/2 connections that there are, between the frames of a server
 * that is silent just then: what is under way is still answered, was never looked at and is to be
 * sent anew, or is dropped with the connection.
 */
export type Mischief = 'none' | 'slow' | 'silent' | 'reset' | 'half-close' | 'garbage' | 'refuse' | GoAway;
export type GoAway = 'go-away' | 'go-away, refused' | 'go-away, dropped';

export interface SwitchedProxy {
  /** HOST:PORT */
  readonly url: string;
  /** From now on, for connections that there are and for those to come. */
  switchTo(mischief: Mischief): Promise<void>;
  /** How many there are. */
  readonly connections: () => number;
  close(): Promise<void>;
}

const SLOW_MS = 150;
const GARBAGE = Buffer.alloc(256, 'no protocol that anybody speaks ');

/** The last stream that is answered, as GOAWAY names it. */
const [NO_STREAM, EVERY_STREAM] = [0, 2 ** 31 - 1] as const;

const isGoAway = (mischief: Mischief): mischief is GoAway => mischief.startsWith('go-away');

interface Pair {
  readonly client: Socket;
  readonly server: Socket;
}

/** Passes bytes on to a server as it is told to. */
export async function startSwitchedProxy(target: string): Promise<SwitchedProxy> {
  const [host = '', port] = target.split(':');
  const pairs = new Set<Pair>();
  let mischief: Mischief = 'none';

  const strike = ({ client, server }: Pair): void => {
    if (mischief === 'reset' || mischief === 'refuse') client.resetAndDestroy();
    if (mischief === 'half-close') client.end();
    if (mischief === 'garbage') client.write(GARBAGE);
    if (isGoAway(mischief)) client.write(goAway(mischief === 'go-away, refused' ? NO_STREAM : EVERY_STREAM));
    if (mischief === 'go-away, dropped') client.end();
    if (mischief === 'garbage' || mischief === 'reset' || mischief === 'refuse') server.destroy();
  };

  const accept = (client: Socket): void => {
    const server = connect({ host, port: Number(port), noDelay: true });
    const pair = { client, server };
    pairs.add(pair);
    for (const socket of [client, server]) socket.setNoDelay(true).on('error', () => undefined);
    client.on('data', (bytes) => mischief !== 'silent' && server.write(bytes));
    server.on('data', (bytes) => {
      if (mischief === 'silent' || !client.writable) return;
      if (mischief === 'slow') setTimeout(() => client.writable && client.write(bytes), SLOW_MS);
      else client.write(bytes);
    });
    client.on('end', () => server.end());
    client.on('close', () => {
      server.destroy();
      pairs.delete(pair);
    });
    server.on('close', () => mischief !== 'half-close' && mischief !== 'garbage' && client.destroy());
    if (mischief !== 'none' && mischief !== 'slow' && !isGoAway(mischief)) strike(pair);
  };

  let listener: Server | null = createServer({ allowHalfOpen: true }, accept);
  const bound = await listen(listener);
  const stopListening = async (): Promise<void> => {
    const stopped = listener;
    listener = null;
    for (const { client } of pairs) client.resetAndDestroy();
    if (stopped) await new Promise((resolve) => stopped.close(resolve));
  };
  return {
    url: `127.0.0.1:${bound}`,
    switchTo: async (next) => {
      mischief = next;
      for (const pair of pairs) strike(pair);
      if (next === 'refuse') await stopListening();
      else if (listener === null) {
        listener = createServer({ allowHalfOpen: true }, accept);
        await listen(listener, bound);
      }
    },
    connections: () => pairs.size,
    close: stopListening,
  };
}
