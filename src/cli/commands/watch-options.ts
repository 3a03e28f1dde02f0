import type { TemporalFlags } from '#app/fleet/temporal-options.ts';
import type { WatchSpec } from '#app/watch-page.ts';
import { listenOptionTable } from '../options/listen.ts';
import type { OptionTable } from '../options/option-table.ts';
import { temporalOptionTable } from '../options/temporal.ts';

export interface WatchFlags extends TemporalFlags, WatchSpec {
  /** Address of the fleet's Temporal; absent for the studies of this machine. */
  readonly temporal?: string;
  readonly group?: string;
}

export const watchOptionTable: OptionTable<WatchFlags> = {
  ...listenOptionTable({ port: 7420, owner: 'page', clients: 'browsers', exposed: 'page' }),
  temporal: {
    flags: '--temporal <host:port>',
    help: "Show the studies of a fleet, at this address of its Temporal (default: this machine's studies)",
    heading: 'Temporal',
  },
  group: {
    flags: '-g, --group <name>',
    help: 'Show only the studies of this group of the fleet',
    heading: 'Temporal',
  },
  tokenFile: {
    flags: '--token-file <file>',
    help: "File with a token that lets its owner steer and stop the fleet's studies on the page (default: nobody can)",
    heading: 'Temporal',
  },
  tokenEnv: {
    flags: '--token-env <variable>',
    help: 'Environment variable with that token',
    heading: 'Temporal',
  },
  ...temporalOptionTable,
};
