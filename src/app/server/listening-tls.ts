import { TrituneError } from '#base/errors.ts';
import type { ListeningTls } from '#loadgen/listening-server.ts';
import { isLoopback } from '#loadgen/loopback.ts';
import { readTls } from './read-tls.ts';

/**
 * How a program of ours listens: with certificate files, on the loopback interface, or in plaintext
 * on request.
 */
export interface ListenSpec {
  /** HOST:PORT; port 0 takes a free port. */
  readonly listen: string;
  readonly tlsCert?: string;
  readonly tlsKey?: string;
  /** Only clients with a certificate of this CA may connect. */
  readonly tlsCa?: string;
  readonly plaintext: boolean;
}

/**
 * Reads the files. Returns undefined for plaintext, which requires the loopback interface or an
 * explicit option. `what`: the listening program, such as `an agent`. Errors: USAGE, INPUT_INVALID.
 */
export async function listeningTls(spec: ListenSpec, what: string): Promise<ListeningTls | undefined> {
  const { tlsCert, tlsKey, tlsCa, plaintext, listen } = spec;
  const isSecure = tlsCert !== undefined || tlsKey !== undefined || tlsCa !== undefined;
  if (plaintext && isSecure)
    throw usage('--plaintext cannot be used with TLS options', 'leave out --plaintext, or the TLS options');
  if (!isSecure) {
    if (plaintext || isLoopback(listen)) return undefined;
    throw usage(
      'the token and the data would cross the network in plaintext',
      'add --tls-cert and --tls-key, or --plaintext on a trusted network',
    );
  }
  const { cert, key, ca } = await readTls({ tlsCert, tlsKey, tlsCa });
  if (cert === undefined || key === undefined)
    throw usage(`${what} with TLS needs a certificate and its key`, 'add both --tls-cert and --tls-key');
  return { cert, key, ca };
}

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
