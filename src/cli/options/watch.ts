import type { WatchSpec } from '../../app/watch/watch-page.ts';
import type { OptionTable } from './option-table.ts';

/** How a page of studies is served. */
export const pageOptionTable: OptionTable<Omit<WatchSpec, 'tokenFile' | 'tokenEnv'>> = {
  listen: {
    flags: '--listen <host:port>',
    help: 'Address to listen on; port 0 takes a free port',
    default: '127.0.0.1:7420',
  },
  tlsCert: { flags: '--tls-cert <file>', help: "PEM file of the page's certificate" },
  tlsKey: { flags: '--tls-key <file>', help: 'PEM file of the key of --tls-cert' },
  tlsCa: {
    flags: '--tls-ca <file>',
    help: 'PEM file of a CA; accept only browsers with a certificate that it signed',
  },
  plaintext: {
    flags: '--plaintext',
    help: 'Listen on other interfaces than loopback without TLS; anybody on the network can read the page',
    default: false,
  },
};
