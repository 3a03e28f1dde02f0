import type { TemporalFlags } from '../../../app/fleet/temporal-options.ts';
import { type OptionTable, under } from '../../options/option-table.ts';
import { temporalOptionTable } from '../../options/temporal.ts';

/** Options of a study on a fleet; none of them changes what is tuned. */
export interface TuneFleetFlags extends TemporalFlags {
  readonly fleet?: string;
  readonly group?: string;
  readonly study?: string;
  readonly detach: boolean;
}

export const tuneFleetOptionTable: OptionTable<TuneFleetFlags> = under<TuneFleetFlags>('Fleet', {
  fleet: {
    flags: '--fleet <host:port>',
    help: 'Tune on all servers of --group at once, through the Temporal at this address (docs/fleet.md)',
  },
  group: { flags: '--group <name>', help: 'Group of servers of --fleet' },
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
