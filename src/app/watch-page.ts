import { TrituneError } from '#base/errors.ts';
import { parseAddress } from '#loadgen/transports/address.ts';
import { Board } from '#watch/board.ts';
import type { Controls } from '#watch/page-controls.ts';
import { type RunningPage, servePage } from '#watch/page-server.ts';
import { type ListenSpec, listeningTls } from './server/listening-tls.ts';
import { pageToken } from './server/own-token.ts';

/** How the page is served. Only visitors with the token may steer studies. */
export interface WatchSpec extends ListenSpec {
  readonly tokenFile?: string;
  readonly tokenEnv?: string;
}

/**
 * Serves the page. Returns a board to fill. `order`: steers studies; null if they cannot be
 * steered. Errors: USAGE, INPUT_INVALID.
 */
export async function openPage(
  spec: WatchSpec,
  order: Controls['order'] | null,
  tell: (line: string) => void,
): Promise<{ readonly board: Board; readonly page: RunningPage }> {
  const token = order ? pageToken(spec) : null;
  if (order && token === null && (spec.tokenFile !== undefined || spec.tokenEnv !== undefined))
    throw new TrituneError('USAGE', 'the token of the page is empty', 'make a file with one: openssl rand -hex 32');
  const controls = order && token !== null ? { token, order } : null;
  const board = new Board(() => performance.now(), { canSteer: controls !== null });
  const tls = await listeningTls(spec, 'a page');
  const page = await servePage({ ...parseAddress(spec.listen), tls, board, controls, tell });
  return { board, page };
}
