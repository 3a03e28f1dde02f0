import type { TemporalFlags } from '../../../app/fleet/temporal-options.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { temporalOptionTable } from '../../options/temporal.ts';

/** Options of a study over many servers; none of them says what the study is. */
export interface TuneFleetFlags extends TemporalFlags {
  readonly fleet?: string;
  readonly group?: string;
  readonly study?: string;
  readonly detach: boolean;
}

export const tuneFleetOptionTable: OptionTable<TuneFleetFlags> = {
  fleet: {
    flags: '--fleet <host:port>',
    help: 'tune over all servers of a --group at once, by its workers: the front of Temporal (docs/fleet.md)',
  },
  group: { flags: '--group <name>', help: 'with --fleet: the group of servers' },
  study: {
    flags: '--study <name>',
    help: 'with --fleet: the name of the study (default: MODEL and the time)',
  },
  detach: {
    flags: '--detach',
    help: 'with --fleet: start the study and leave it; fleet attach shows it',
    default: false,
  },
  ...temporalOptionTable,
};
