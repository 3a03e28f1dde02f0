import type { WatchSpec } from '../../app/watch/watch-page.ts';
import type { OptionTable } from './option-table.ts';

/** How a page of studies is served. */
export const pageOptionTable: OptionTable<Omit<WatchSpec, 'tokenFile' | 'tokenEnv'>> = {
  listen: {
    flags: '--listen <host:port>',
    help: 'where to listen; port 0 takes a free one',
    default: '127.0.0.1:7420',
  },
  tlsCert: { flags: '--tls-cert <file>', help: "PEM file with the page's certificate" },
  tlsKey: { flags: '--tls-key <file>', help: 'PEM file with the key of --tls-cert' },
  tlsCa: {
    flags: '--tls-ca <file>',
    help: 'PEM file with a CA: only browsers with a certificate of it are let in (mTLS)',
  },
  plaintext: {
    flags: '--plaintext',
    help: 'listen beyond the loopback interface without TLS: whoever is on the way can read it',
    default: false,
  },
};
