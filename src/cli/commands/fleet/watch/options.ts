import type { TemporalFlags } from '../../../../app/fleet/temporal-options.ts';
import type { WatchSpec } from '../../../../app/watch/watch-page.ts';
import type { OptionTable } from '../../../options/option-table.ts';
import { temporalOptionTable } from '../../../options/temporal.ts';
import { pageOptionTable } from '../../../options/watch.ts';

export interface FleetWatchFlags extends TemporalFlags, WatchSpec {
  readonly temporal: string;
  readonly group?: string;
}

export const fleetWatchOptionTable: OptionTable<FleetWatchFlags> = {
  group: { flags: '-g, --group <name>', help: 'only the studies of this group' },
  ...pageOptionTable,
  tokenFile: {
    flags: '--token-file <file>',
    help: 'file with a token: who shows it on the page may steer and stop studies; without one nobody can',
  },
  tokenEnv: { flags: '--token-env <variable>', help: 'environment variable with it' },
  temporal: { flags: '--temporal <host:port>', help: 'the front of Temporal', default: 'localhost:7233' },
  ...temporalOptionTable,
};
