import type { TemporalFlags } from '../../../../app/fleet/temporal-options.ts';
import type { WatchSpec } from '../../../../app/watch/watch-page.ts';
import type { OptionTable } from '../../../options/option-table.ts';
import { temporalOptionTable } from '../../../options/temporal.ts';
import { watchOptionTable } from '../../watch/options.ts';

export interface FleetWatchFlags extends TemporalFlags, WatchSpec {
  readonly temporal: string;
  readonly group?: string;
}

export const fleetWatchOptionTable: OptionTable<FleetWatchFlags> = {
  group: { flags: '-g, --group <name>', help: 'Show only the studies of this group' },
  ...watchOptionTable,
  tokenFile: {
    flags: '--token-file <file>',
    help: 'File with a token that lets its owner steer and stop studies on the page (default: nobody can)',
  },
  tokenEnv: { flags: '--token-env <variable>', help: 'Environment variable with that token' },
  temporal: { flags: '--temporal <host:port>', help: 'Address of Temporal', default: 'localhost:7233' },
  ...temporalOptionTable,
};
