import { nullRuns } from '#loadgen/client/ceiling.ts';
import type { PlainHttpRequest } from '#loadgen/plain-http.ts';
import type { InferRequest, RequestHeader, RequestSet } from '#loadgen/types.ts';
import type { ClientSpec } from '#spec/traffic-spec.ts';
import type { TlsOptions } from '#triton/wire/tls.ts';
import { startClientThreads } from './client-threads.ts';
import type { PlainContent } from './http-content.ts';
import { type Sender, threadSender } from './sender.ts';

/** A plain HTTP server, and how it is sent to. */
export interface HttpServer {
  /** HOST:PORT */
  readonly address: string;
  readonly tls: TlsOptions | undefined;
  readonly request: PlainHttpRequest;
  /** Headers with secret values, which are never shown. */
  readonly secrets: readonly RequestHeader[];
  readonly keepsAlive: boolean;
  /** True: a reply with a status of 400 or more is a failure. */
  readonly refusalsFail?: boolean;
}

/**
 * Returns one request of `batch` inferences for each of the bodies, or one with the body of the
 * server's request if there are none. `model`: its name, or what stands for it.
 */
export function httpRequests(model: string, { bodies, batch }: Pick<PlainContent, 'bodies' | 'batch'>): RequestSet {
  const request: InferRequest = { model, version: '', inputs: [], batch };
  const requests = bodies.length === 0 ? [request] : bodies.map((body) => ({ ...request, body }));
  return { model, version: '', batch, requests };
}

/**
 * Opens the threads that measure, and warms them up against a server that does nothing. Errors:
 * USAGE, AGENT_FAILED.
 */
export async function openHttp(
  { address, tls, request, secrets, keepsAlive, refusalsFail }: HttpServer,
  requests: RequestSet,
  timeoutMs: number,
  client: ClientSpec,
): Promise<Sender> {
  const options = { address, tls, keepsAlive, timeoutMs, ...(refusalsFail && { refusalsFail }) };
  const workers = await startClientThreads(client, { protocol: 'plain-http', options, request, secrets });
  const runs = nullRuns(workers, { protocol: 'http', requests });
  await runs.warmUp();
  // The null server speaks no TLS.
  return threadSender(workers, tls ? {} : { clientCeiling: runs.ceiling });
}
