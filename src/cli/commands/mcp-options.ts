import type { AddressSpec, HeaderSpec, TlsSpec } from '#spec/server-spec.ts';
import { headerOptionTable } from '../options/headers.ts';
import type { OptionTable } from '../options/option-table.ts';
import { tlsOptionTable } from '../options/tls.ts';
import { connectionOptionTable } from './tune/options.ts';

/** How the server is reached: each of its options is passed on to the command that a tool runs. */
type ReachOptions = Pick<AddressSpec, 'url' | 'protocol'> & TlsSpec & HeaderSpec;

export const reachOptionTable: OptionTable<ReachOptions> = {
  url: connectionOptionTable.url,
  protocol: connectionOptionTable.protocol,
  ...tlsOptionTable,
  ...headerOptionTable,
};

/** What agents may do, and where results go. */
export interface McpOptions {
  readonly allowLoad?: boolean;
  readonly allowChanges?: boolean;
  readonly output: string;
}

export const agentOptionTable: OptionTable<McpOptions> = {
  allowLoad: {
    flags: '--allow-load',
    help: 'Offer the tools that send requests to models (plan, profile)',
    heading: 'Safety',
  },
  allowChanges: {
    flags: '--allow-changes',
    help: 'Offer the tool that also loads other configs (tune); it puts the original back',
    heading: 'Safety',
  },
  output: {
    flags: '-o, --output <directory>',
    help: 'Directory for the runs of tune',
    default: 'tritune-runs',
    heading: 'Output',
  },
};
