import type { TlsSpec } from '#spec/server-spec.ts';
import { type OptionTable, under } from './option-table.ts';

export const tlsOptionTable: OptionTable<TlsSpec> = under<TlsSpec>('TLS', {
  tls: { flags: '--tls', help: 'Use TLS, as https:// or grpcs:// in the address do' },
  tlsCa: { flags: '--tls-ca <file>', help: "PEM file of the CA that signed the server's certificate" },
  tlsCert: { flags: '--tls-cert <file>', help: 'PEM file of the client certificate' },
  tlsKey: { flags: '--tls-key <file>', help: 'PEM file of the key of --tls-cert' },
  tlsServerName: {
    flags: '--tls-server-name <name>',
    help: "Name in the server's certificate (default: the name in the address)",
  },
  tlsInsecure: { flags: '--tls-insecure', help: "Do not verify the server's certificate" },
});
