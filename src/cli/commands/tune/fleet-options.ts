import type { TemporalFlags } from '#app/fleet/temporal-options.ts';
import { type OptionTable, under } from '../../options/option-table.ts';
import { temporalOptionTable } from '../../options/temporal.ts';

/** Options of a study on a fleet; none of them changes what is tuned. */
export interface TuneFleetFlags extends TemporalFlags {
  /** The address of Temporal, which makes it a study on a fleet. */
  readonly temporal?: string;
  /** The name of that option until 0.2. */
  readonly fleet?: string;
  readonly group?: string;
  readonly study?: string;
  readonly detach: boolean;
}

export const tuneFleetOptionTable: OptionTable<TuneFleetFlags> = under<TuneFleetFlags>('Fleet', {
  temporal: {
    flags: '--temporal <host:port>',
    help: 'Tune on all servers of --group at once, through the Temporal at this address (docs/fleet.md)',
  },
  fleet: { flags: '--fleet <host:port>', help: 'The same as --temporal', isHidden: true },
  group: { flags: '--group <name>', help: 'Group of servers of the fleet' },
  study: {
    flags: '--study <name>',
    help: 'Name of the study on the fleet (default: MODEL-TIMESTAMP)',
  },
  detach: {
    flags: '--detach',
    help: 'Start the study on the fleet and exit; tritune fleet attach shows it',
    default: false,
  },
  ...temporalOptionTable,
});
