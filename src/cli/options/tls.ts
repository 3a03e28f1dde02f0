import type { TlsSpec } from '../../spec/server-spec.ts';
import type { OptionTable } from './option-table.ts';

export const tlsOptionTable: OptionTable<TlsSpec> = {
  tls: { flags: '--tls', help: 'speak TLS with the server, as do https:// and grpcs:// before its address' },
  tlsCa: { flags: '--tls-ca <file>', help: "PEM file with the CA that signed the server's certificate" },
  tlsCert: { flags: '--tls-cert <file>', help: 'PEM file with our certificate, for a server that asks for one' },
  tlsKey: { flags: '--tls-key <file>', help: 'PEM file with the key of --tls-cert' },
  tlsServerName: {
    flags: '--tls-server-name <name>',
    help: "the name in the server's certificate, where it is not the address's",
  },
  tlsInsecure: { flags: '--tls-insecure', help: "do not verify the server's certificate" },
};
