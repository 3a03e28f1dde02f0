import type { AgentsSpec, ClientSpec } from '#spec/traffic-spec.ts';
import { type OptionTable, under } from './option-table.ts';
import { collectListed, positiveNumber, positiveWhole, wholeNumber } from './option-values.ts';

export const agentsOptionTable: OptionTable<AgentsSpec> = under<AgentsSpec>('Agents', {
  agents: {
    flags: '--agents <host:port,…>',
    help: 'Agents that send the load instead of this machine, in equal parts (docs/agents.md)',
    parse: collectListed,
  },
  agentTokenFile: { flags: '--agent-token-file <file>', help: 'File with the token of the agents' },
  agentTokenEnv: { flags: '--agent-token-env <variable>', help: 'Environment variable with the token of the agents' },
  agentTls: { flags: '--agent-tls', help: 'Use TLS with the agents' },
  agentTlsCa: { flags: '--agent-tls-ca <file>', help: "PEM file of the CA that signed the agents' certificates" },
  agentTlsCert: { flags: '--agent-tls-cert <file>', help: 'PEM file of the client certificate for the agents' },
  agentTlsKey: { flags: '--agent-tls-key <file>', help: 'PEM file of the key of --agent-tls-cert' },
  agentPlaintext: {
    flags: '--agent-plaintext',
    help: 'Send the token to other machines without TLS; anybody on the network can read it',
  },
  agentClockLimitMs: {
    flags: '--agent-clock-limit-ms <ms>',
    help: "Largest uncertainty of an agent's clock, in ms (default: 25)",
    parse: positiveNumber,
  },
});

export const clientOptionTable: OptionTable<ClientSpec> = {
  ...under<Omit<ClientSpec, keyof AgentsSpec>>('Load generator', {
    clientThreads: {
      flags: '--client-threads <n>',
      help: 'Threads that send requests, on each agent if there are agents (default: 1)',
      parse: positiveWhole,
    },
    maxErrors: {
      flags: '--max-errors <n>',
      help: 'Failed requests after which a load level ends and does not count (default: no limit)',
      parse: wholeNumber,
    },
  }),
  ...agentsOptionTable,
};
