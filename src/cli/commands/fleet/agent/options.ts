import type { AgentSpec } from '../../../../app/agent/run-agent.ts';
import type { OptionTable } from '../../../options/option-table.ts';
import { collect, positiveNumber, positiveWhole } from '../../../options/option-values.ts';

export const agentOptionTable: OptionTable<AgentSpec> = {
  listen: {
    flags: '--listen <host:port>',
    help: 'where to listen; port 0 takes a free one',
    default: '127.0.0.1:7411',
  },
  tokenFile: { flags: '--token-file <file>', help: 'file with the token that controllers must show' },
  tokenEnv: { flags: '--token-env <variable>', help: 'environment variable with it' },
  tlsCert: { flags: '--tls-cert <file>', help: "PEM file with the agent's certificate" },
  tlsKey: { flags: '--tls-key <file>', help: 'PEM file with the key of --tls-cert' },
  tlsCa: {
    flags: '--tls-ca <file>',
    help: 'PEM file with a CA: only controllers with a certificate of it are let in (mTLS)',
  },
  plaintext: {
    flags: '--plaintext',
    help: 'listen beyond the loopback interface without TLS: whoever is on the way can read the token',
    default: false,
  },
  allowTarget: {
    flags: '--allow-target <host[:port]>',
    help: 'a server that it may send to, as the controller names it; * for any; repeatable',
    parse: collect,
  },
  maxThreads: {
    flags: '--max-threads <n>',
    help: 'threads that send, at most (default: as many as there are cores)',
    parse: positiveWhole,
  },
  maxRate: {
    flags: '--max-rate <n>',
    help: 'requests per second, at most',
    parse: positiveNumber,
    default: 1_000_000,
  },
  maxMemory: {
    flags: '--max-memory <MiB>',
    help: 'memory for the requests, with a copy for each thread, at most',
    parse: positiveWhole,
    default: 1024,
  },
};
