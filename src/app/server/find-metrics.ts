import { metricsPage } from '#profiler/devices/metrics-page.ts';
import type { TlsOptions } from '#triton/wire/tls.ts';
import type { Addresses } from './addresses.ts';

/**
 * Returns the address of a server's metrics page: the given one, else the port after that of gRPC
 * if it has such a page, because servers usually have three ports in a row; else port 8002.
 */
export async function findMetrics(
  statedUrl: string | undefined,
  { protocol, url, control, metricsUrl: usual }: Addresses,
  tls: TlsOptions,
): Promise<string> {
  if (statedUrl !== undefined) return statedUrl;
  const grpc = protocol === 'grpc' ? url : control?.isGuess === false ? control.url : portAfter(url);
  const next = `http://${portAfter(grpc)}/metrics`;
  if (next === usual) return usual;
  const page = await metricsPage(next, null, { tls })(new AbortController().signal);
  return page?.some(({ name }) => name.startsWith('nv_')) ? next : usual;
}

function portAfter(address: string): string {
  const at = address.lastIndexOf(':');
  return `${address.slice(0, at)}:${Number(address.slice(at + 1)) + 1}`;
}
