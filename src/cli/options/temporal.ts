import type { TemporalFlags } from '#app/fleet/temporal-options.ts';
import { type OptionTable, under } from './option-table.ts';

/**
 * How to reach Temporal. Secrets come from files and variables, because anyone can see a command
 * line.
 */
export const temporalOptionTable: OptionTable<TemporalFlags> = under<TemporalFlags>('Temporal', {
  temporalNamespace: {
    flags: '--temporal-namespace <name>',
    help: 'Temporal namespace of the fleet',
    default: 'default',
  },
  temporalTls: { flags: '--temporal-tls', help: 'Use TLS with Temporal' },
  temporalTlsCa: { flags: '--temporal-tls-ca <file>', help: "PEM file of the CA that signed Temporal's certificate" },
  temporalTlsCert: { flags: '--temporal-tls-cert <file>', help: 'PEM file of the client certificate for Temporal' },
  temporalTlsKey: { flags: '--temporal-tls-key <file>', help: 'PEM file of the key of --temporal-tls-cert' },
  temporalTlsServerName: {
    flags: '--temporal-tls-server-name <name>',
    help: "Name in Temporal's certificate (default: the name in the address)",
  },
  temporalApiKeyEnv: {
    flags: '--temporal-api-key-env <variable>',
    help: "Environment variable with Temporal's API key",
  },
  temporalApiKeyFile: { flags: '--temporal-api-key-file <file>', help: "File with Temporal's API key" },
  payloadKeyEnv: {
    flags: '--payload-key-env <variable>',
    help: 'Environment variable with the key that encrypts everything sent through Temporal: 32 bytes in base64, the same for the whole fleet',
  },
  payloadKeyFile: { flags: '--payload-key-file <file>', help: 'File with that key' },
});
