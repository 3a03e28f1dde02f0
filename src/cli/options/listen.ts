import type { ListenSpec } from '#app/server/listening-tls.ts';
import type { OptionTable } from './option-table.ts';

/**
 * What listens, in the words of its help: `owner` has the certificate, `clients` connect, and
 * without TLS anybody can read `exposed`.
 */
interface ListenerWords {
  readonly port: number;
  readonly owner: string;
  readonly clients: string;
  readonly exposed: string;
}

/** Returns the options for where a server of ours listens, and whether by TLS. */
export const listenOptionTable = ({ port, owner, clients, exposed }: ListenerWords): OptionTable<ListenSpec> => ({
  listen: {
    flags: '--listen <host:port>',
    help: 'Address to listen on; port 0 takes a free port',
    default: `127.0.0.1:${port}`,
  },
  tlsCert: { flags: '--tls-cert <file>', help: `PEM file of the ${owner}'s certificate` },
  tlsKey: { flags: '--tls-key <file>', help: 'PEM file of the key of --tls-cert' },
  tlsCa: {
    flags: '--tls-ca <file>',
    help: `PEM file of a CA; accept only ${clients} with a certificate that it signed`,
  },
  plaintext: {
    flags: '--plaintext',
    help: `Listen on other interfaces than loopback without TLS; anybody on the network can read the ${exposed}`,
    default: false,
  },
});
