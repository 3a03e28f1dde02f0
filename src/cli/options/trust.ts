import { type OptionTable, under } from './option-table.ts';

export interface TrustFlags {
  readonly trustRun?: boolean;
}

/** For commands that act on what the directory of a run says. */
export const trustOptionTable: OptionTable<TrustFlags> = under<TrustFlags>('Safety', {
  trustRun: {
    flags: '--trust-run',
    help: 'Act on a run directory that this user did not write, as listed (default: ask at a terminal, else refuse)',
  },
});
