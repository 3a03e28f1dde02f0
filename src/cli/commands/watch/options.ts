import type { ListenSpec } from '../../../app/server/listening-tls.ts';
import type { OptionTable } from '../../options/option-table.ts';
import { pageOptionTable } from '../../options/watch.ts';

export type WatchFlags = ListenSpec;

export const watchOptionTable: OptionTable<WatchFlags> = pageOptionTable;
