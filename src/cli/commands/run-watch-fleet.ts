import { temporalAddress } from '#app/fleet/temporal-options.ts';
import { fleetSource, orderOnFleet, watchFleet } from '#app/fleet/watch-fleet.ts';
import { openClient } from '#fleet/temporal/connection.ts';
import type { Board } from '#watch/board.ts';
import { showStudies } from '../studies-page.ts';
import type { Terminal } from '../terminal.ts';
import type { WatchFlags } from './watch-options.ts';

/** Serves the page until it is interrupted; studies go on without it. */
export async function runFleetWatch(
  flags: WatchFlags & { readonly temporal: string },
  terminal: Terminal,
): Promise<number> {
  const { client, close } = await openClient(await temporalAddress(flags.temporal, flags));
  const shown = {
    what: 'the fleet',
    order: orderOnFleet(client),
    firstWords: 'closing the page; studies continue',
    lastWords: 'studies continue',
    fill: (board: Board, signal: AbortSignal) => watchFleet(fleetSource(client, flags.group), board, signal),
  };
  try {
    return await showStudies(flags, shown, terminal);
  } finally {
    await close();
  }
}
