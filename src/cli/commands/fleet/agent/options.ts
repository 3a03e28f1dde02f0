import type { AgentSpec } from '../../../../app/agent/run-agent.ts';
import type { OptionTable } from '../../../options/option-table.ts';
import { collect, positiveNumber, positiveWhole } from '../../../options/option-values.ts';

export const agentOptionTable: OptionTable<AgentSpec> = {
  listen: {
    flags: '--listen <host:port>',
    help: 'Address to listen on; port 0 takes a free port',
    default: '127.0.0.1:7411',
  },
  tokenFile: { flags: '--token-file <file>', help: 'File with the token that controllers must send' },
  tokenEnv: { flags: '--token-env <variable>', help: 'Environment variable with that token' },
  tlsCert: { flags: '--tls-cert <file>', help: "PEM file of the agent's certificate" },
  tlsKey: { flags: '--tls-key <file>', help: 'PEM file of the key of --tls-cert' },
  tlsCa: {
    flags: '--tls-ca <file>',
    help: 'PEM file of a CA; accept only controllers with a certificate that it signed',
  },
  plaintext: {
    flags: '--plaintext',
    help: 'Listen on other interfaces than loopback without TLS; anybody on the network can read the token',
    default: false,
  },
  allowTarget: {
    flags: '--allow-target <host[:port]>',
    help: 'Server that it may send to, as the controller names it, or *; repeatable',
    parse: collect,
  },
  maxThreads: {
    flags: '--max-threads <n>',
    help: 'Most threads that send requests (default: one for each core)',
    parse: positiveWhole,
  },
  maxRate: {
    flags: '--max-rate <n>',
    help: 'Most requests per second',
    parse: positiveNumber,
    default: 1_000_000,
  },
  maxMemory: {
    flags: '--max-memory <MiB>',
    help: 'Most memory for requests on all threads, in MiB',
    parse: positiveWhole,
    default: 1024,
  },
};
