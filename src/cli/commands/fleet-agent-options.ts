import type { AgentSpec } from '#app/run-agent.ts';
import { listenOptionTable } from '../options/listen.ts';
import type { OptionTable } from '../options/option-table.ts';
import { collect, positiveNumber, positiveWhole } from '../options/option-values.ts';

const { listen, ...tls } = listenOptionTable({ port: 7411, owner: 'agent', clients: 'controllers', exposed: 'token' });

export const agentOptionTable: OptionTable<AgentSpec> = {
  listen,
  tokenFile: { flags: '--token-file <file>', help: 'File with the token that controllers must send' },
  tokenEnv: { flags: '--token-env <variable>', help: 'Environment variable with that token' },
  ...tls,
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
  maxConnections: {
    flags: '--max-connections <n>',
    help: 'Most open connections to servers',
    parse: positiveWhole,
    default: 20_000,
  },
  maxMemory: {
    flags: '--max-memory <MiB>',
    help: 'Most memory for requests on all threads and for messages, in MiB',
    parse: positiveWhole,
    default: 1024,
  },
};
