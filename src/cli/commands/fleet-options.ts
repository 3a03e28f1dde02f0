import type { TemporalFlags } from '#app/fleet/temporal-options.ts';
import {
  type HeaderSpec,
  type ProtectSpec,
  type Protocol,
  protocols,
  type RestoreFirstSpec,
  type TlsSpec,
} from '#spec/server-spec.ts';
import type { AgentsSpec } from '#spec/traffic-spec.ts';
import { agentsOptionTable } from '../options/client.ts';
import { headerOptionTable } from '../options/headers.ts';
import type { OptionTable } from '../options/option-table.ts';
import { collectListed } from '../options/option-values.ts';
import { protectOptionTable, restoreFirstOptionTable } from '../options/protect.ts';
import { temporalOptionTable } from '../options/temporal.ts';
import { tlsOptionTable } from '../options/tls.ts';
import { type TrustFlags, trustOptionTable } from '../options/trust.ts';
import { type UiName, uiNames } from './tune/options.ts';

interface FleetFlags extends TemporalFlags {
  readonly temporal: string;
}

const fleetOptionTable: OptionTable<FleetFlags> = {
  temporal: {
    flags: '--temporal <host:port>',
    help: 'Address of Temporal',
    heading: 'Temporal',
    default: 'localhost:7233',
  },
  ...temporalOptionTable,
};

export interface WorkerFlags
  extends FleetFlags,
    TlsSpec,
    HeaderSpec,
    ProtectSpec,
    RestoreFirstSpec,
    AgentsSpec,
    TrustFlags {
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
    help: 'Address of the Triton to tune, as seen from this machine',
    required: true,
  },
  group: { flags: '-g, --group <name>', help: 'Group of equal servers that it belongs to', required: true },
  state: {
    flags: '--state <directory>',
    help: 'Directory for journals and the original config; keep it over restarts',
    default: 'tritune-fleet',
  },
  protocol: {
    flags: '-i, --protocol <protocol>',
    help: 'Protocol of the requests (default: the one that the port speaks)',
    choices: protocols,
  },
  controlUrl: { flags: '--control-url <host:port>', help: 'Address of gRPC for loading models, with --protocol http' },
  metricsUrl: {
    flags: '--metrics-url <url>',
    help: "Address of the server's Prometheus metrics (default: at the port after gRPC's, or at 8002)",
  },
  ...tlsOptionTable,
  ...headerOptionTable,
  ...protectOptionTable,
  ...restoreFirstOptionTable,
  ...trustOptionTable,
  ...agentsOptionTable,
  agents: {
    flags: '--agents <host:port,…>',
    help: 'Agents that send the load to this server instead of this machine; no other worker may use them (docs/fleet.md)',
    parse: collectListed,
    heading: 'Agents',
  },
  ...fleetOptionTable,
};

export interface StatusFlags extends FleetFlags {
  readonly group?: string;
}

export const statusOptionTable: OptionTable<StatusFlags> = {
  group: { flags: '-g, --group <name>', help: 'List only the studies of this group' },
  ...fleetOptionTable,
};

export interface AttachFlags extends FleetFlags {
  readonly output?: string;
  readonly ui: UiName;
}

export const attachOptionTable: OptionTable<AttachFlags> = {
  output: {
    flags: '-o, --output <directory>',
    help: 'Directory for the journal and the results (default: tritune-runs/STUDY)',
  },
  ui: {
    flags: '--ui <screen>',
    help: 'What to show; auto shows the full screen on a terminal, else lines',
    choices: uiNames,
    default: 'auto',
  },
  ...fleetOptionTable,
};

export interface StopFlags extends FleetFlags {
  readonly now: boolean;
}

export const stopOptionTable: OptionTable<StopFlags> = {
  now: {
    flags: '--now',
    help: 'Stop running trials at once (default: end the search and run the final)',
    default: false,
  },
  ...fleetOptionTable,
};
