import type { AgentsSpec, ClientSpec } from '../../spec/traffic-spec.ts';
import type { OptionTable } from './option-table.ts';
import { collectListed, positiveNumber, positiveWhole, wholeNumber } from './option-values.ts';

export const agentsOptionTable: OptionTable<AgentsSpec> = {
  agents: {
    flags: '--agents <host:port,…>',
    help: 'agents (tritune fleet agent) that send in place of this machine; the load is divided exactly among them (docs/agents.md)',
    parse: collectListed,
  },
  agentTokenFile: { flags: '--agent-token-file <file>', help: 'file with the token of the agents' },
  agentTokenEnv: { flags: '--agent-token-env <variable>', help: 'environment variable with it' },
  agentTls: { flags: '--agent-tls', help: 'speak TLS with the agents; so do the options below' },
  agentTlsCa: { flags: '--agent-tls-ca <file>', help: "PEM file with the CA that signed the agents' certificates" },
  agentTlsCert: {
    flags: '--agent-tls-cert <file>',
    help: 'PEM file with our certificate, for agents that ask for one',
  },
  agentTlsKey: { flags: '--agent-tls-key <file>', help: 'PEM file with the key of --agent-tls-cert' },
  agentPlaintext: {
    flags: '--agent-plaintext',
    help: 'show the token to agents on other machines without TLS: whoever is on the way can read it, and what is sent',
  },
  agentClockLimitMs: {
    flags: '--agent-clock-limit-ms <ms>',
    help: "how far an agent's clock may be off; a measurement with one that is less sure ends (default: 25)",
    parse: positiveNumber,
  },
};

export const clientOptionTable: OptionTable<ClientSpec> = {
  clientThreads: {
    flags: '--client-threads <n>',
    help: 'threads that send, each over connections of its own, of each agent where agents send; one does for most models (default: 1)',
    parse: positiveWhole,
  },
  maxErrors: {
    flags: '--max-errors <n>',
    help: 'a load level with more failed requests than this ends at once and does not count (default: no limit)',
    parse: wholeNumber,
  },
  ...agentsOptionTable,
};
