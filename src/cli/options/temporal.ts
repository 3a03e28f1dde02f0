import type { TemporalFlags } from '../../app/fleet/temporal-options.ts';
import type { OptionTable } from './option-table.ts';

/** How to reach Temporal. Secrets are read from files and variables: a command line is for all to see. */
export const temporalOptionTable: OptionTable<TemporalFlags> = {
  temporalNamespace: {
    flags: '--temporal-namespace <name>',
    help: 'the namespace of Temporal that the fleet is in',
    default: 'default',
  },
  temporalTls: { flags: '--temporal-tls', help: 'speak TLS with Temporal' },
  temporalTlsCa: { flags: '--temporal-tls-ca <file>', help: "PEM file with the CA of Temporal's certificate" },
  temporalTlsCert: { flags: '--temporal-tls-cert <file>', help: 'PEM file with our certificate (mTLS)' },
  temporalTlsKey: { flags: '--temporal-tls-key <file>', help: 'PEM file with the key of --temporal-tls-cert' },
  temporalTlsServerName: {
    flags: '--temporal-tls-server-name <name>',
    help: "the name in Temporal's certificate, where it is not the address's",
  },
  temporalApiKeyEnv: { flags: '--temporal-api-key-env <variable>', help: "Temporal's API key, from a variable" },
  temporalApiKeyFile: { flags: '--temporal-api-key-file <file>', help: "Temporal's API key, from a file" },
  payloadKeyEnv: {
    flags: '--payload-key-env <variable>',
    help: 'encrypt all that goes through Temporal (AES-256-GCM) with this key, 32 bytes in base64; the same for all of a fleet',
  },
  payloadKeyFile: { flags: '--payload-key-file <file>', help: 'such a key, from a file' },
};
