import type { ListenSpec } from '../../../app/server/listening-tls.ts';
import { listenOptionTable } from '../../options/listen.ts';
import type { OptionTable } from '../../options/option-table.ts';

export type WatchFlags = ListenSpec;

export const watchOptionTable: OptionTable<WatchFlags> = listenOptionTable({
  port: 7420,
  owner: 'page',
  clients: 'browsers',
  exposed: 'page',
});
