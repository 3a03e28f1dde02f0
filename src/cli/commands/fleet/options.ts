import type { TemporalFlags } from '../../../app/fleet/temporal-options.ts';
import {
  type HeaderSpec,
  type ProtectSpec,
  type Protocol,
  protocols,
  type TlsSpec,
} from '../../../spec/server-spec.ts';
import type { AgentsSpec } from '../../../spec/traffic-spec.ts';
import { agentsOptionTable } from '../../options/client.ts';
import { headerOptionTable } from '../../options/headers.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { collectListed } from '../../options/option-values.ts';
import { protectOptionTable } from '../../options/protect.ts';
import { temporalOptionTable } from '../../options/temporal.ts';
import { tlsOptionTable } from '../../options/tls.ts';
import { type UiName, uiNames } from '../tune/options.ts';

interface FleetFlags extends TemporalFlags {
  readonly temporal: string;
}

const fleetOptionTable: OptionTable<FleetFlags> = {
  temporal: { flags: '--temporal <host:port>', help: 'the front of Temporal', default: 'localhost:7233' },
  ...temporalOptionTable,
};

export interface WorkerFlags extends FleetFlags, TlsSpec, HeaderSpec, ProtectSpec, AgentsSpec {
  readonly server: string;
  readonly protocol: Protocol;
  readonly controlUrl?: string;
  readonly metricsUrl?: string;
  readonly group: string;
  readonly state: string;
}

export const workerOptionTable: OptionTable<WorkerFlags> = {
  server: {
    flags: '-s, --server <host:port>',
    help: 'the Triton to drive, as this machine reaches it',
    required: true,
  },
  group: { flags: '-g, --group <name>', help: 'the group of like servers that it is one of', required: true },
  state: {
    flags: '--state <directory>',
    help: 'where journals are kept, and what the server had before: keep it over restarts',
    default: 'tritune-fleet',
  },
  protocol: { flags: '-i, --protocol <protocol>', help: 'how the traffic goes', choices: protocols, default: 'grpc' },
  controlUrl: { flags: '--control-url <host:port>', help: 'as for tune' },
  metricsUrl: { flags: '--metrics-url <url>', help: 'as for tune' },
  ...tlsOptionTable,
  ...headerOptionTable,
  ...protectOptionTable,
  ...agentsOptionTable,
  agents: {
    flags: '--agents <host:port,…>',
    help: 'agents (tritune fleet agent) that send to this server in place of this machine: its own, which no other worker uses (docs/fleet.md)',
    parse: collectListed,
  },
  ...fleetOptionTable,
};

export interface StatusFlags extends FleetFlags {
  readonly group?: string;
}

export const statusOptionTable: OptionTable<StatusFlags> = {
  group: { flags: '-g, --group <name>', help: 'only the studies of this group' },
  ...fleetOptionTable,
};

export interface AttachFlags extends FleetFlags {
  readonly output?: string;
  readonly ui: UiName;
}

export const attachOptionTable: OptionTable<AttachFlags> = {
  output: { flags: '-o, --output <directory>', help: 'where journal and documents go (default: tritune-runs/STUDY)' },
  ui: { flags: '--ui <screen>', help: 'as for tune', choices: uiNames, default: 'auto' },
  ...fleetOptionTable,
};

export interface StopFlags extends FleetFlags {
  readonly now: boolean;
}

export const stopOptionTable: OptionTable<StopFlags> = {
  now: {
    flags: '--now',
    help: 'leave what is under way; without it the search ends, and the final is played',
    default: false,
  },
  ...fleetOptionTable,
};
