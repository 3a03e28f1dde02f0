import { clientRequests, noteSending } from '#adapter/triton/sent-requests.ts';
import type { CountedRequests } from '#space/client-batches.ts';
import type { OpenServer } from './open-server.ts';

type Opened = Pick<OpenServer, 'client' | 'server' | 'isLaunched'>;

/**
 * Returns the requests of clients that the server has counted, for the models of which that is
 * known.
 */
export async function countClients(
  { client, server }: Opened,
  models: readonly string[],
): Promise<ReadonlyMap<string, CountedRequests>> {
  const counted = await Promise.all(
    models.map(async (model) => [model, await clientRequests(client, model, server)] as const),
  );
  return new Map(counted.flatMap(([model, requests]) => (requests ? [[model, requests] as const] : [])));
}

/**
 * Keeps this run's requests out of what `countClients` gives later runs. Call the returned function
 * after the last request.
 */
export const noteOwnRequests = async (
  { client, server, isLaunched }: Opened,
  models: readonly string[],
): Promise<() => Promise<void>> => (isLaunched ? async () => undefined : noteSending(client, models, server));
