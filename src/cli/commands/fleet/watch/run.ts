import { temporalAddress } from '../../../../app/fleet/temporal-options.ts';
import { fleetSource, orderOnFleet, watchFleet } from '../../../../app/fleet/watch-fleet.ts';
import { openPage } from '../../../../app/watch/watch-page.ts';
import { openClient } from '../../../../fleet/temporal/connection.ts';
import { exitCodes } from '../../../exit-codes.ts';
import { listenForInterrupts } from '../../../interrupts.ts';
import type { Terminal } from '../../../terminal.ts';
import type { FleetWatchFlags } from './options.ts';

/** Serves the page until it is interrupted; studies go on without it. */
export async function runFleetWatch(flags: FleetWatchFlags, terminal: Terminal): Promise<number> {
  const { client, close } = await openClient(await temporalAddress(flags.temporal, flags));
  const interrupts = listenForInterrupts(terminal.tell, () => 'studies continue', 'closing the page; studies continue');
  try {
    const { board, page } = await openPage(flags, orderOnFleet(client), terminal.tell);
    terminal.print(`watch the fleet at ${page.url}`);
    try {
      await watchFleet(fleetSource(client, flags.group), board, interrupts.signal);
      interrupts.check();
      return exitCodes.done;
    } finally {
      await page.close();
    }
  } finally {
    interrupts.release();
    await close();
  }
}
