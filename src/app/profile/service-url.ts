import { TrituneError } from '#base/errors.ts';
import { type PlainHttpUrl, plainHttpUrl } from '#loadgen/plain-http-url.ts';
import type { TlsSpec } from '#spec/server-spec.ts';
import type { TlsOptions } from '#triton/wire/tls.ts';
import { type Devices, isOfThisMachine, listDevices } from '../server/devices.ts';
import { readTls } from '../server/read-tls.ts';
import { wantsTls } from '../server/tls.ts';
import type { ServiceSpec } from './service.ts';

/** The parts of an address, and its TLS; undefined for plaintext. */
export interface ReadUrl {
  readonly url: PlainHttpUrl;
  readonly tls: TlsOptions | undefined;
}

/**
 * Reads an address that may say by itself whether it takes TLS. Errors: USAGE, INPUT_INVALID for a
 * certificate that cannot be read.
 */
export async function readUrl(text: string, options: TlsSpec): Promise<ReadUrl> {
  const url = plainHttpUrl(text, wantsTls(options));
  if (url.isSecure === false && wantsTls(options))
    throw usage('http:// excludes TLS, but there are TLS options', 'write https://, or leave out the TLS options');
  return { url, tls: (url.isSecure ?? wantsTls(options)) ? await readTls(options) : undefined };
}

/**
 * Errors: USAGE for device figures of a server on another machine without the address of its
 * metrics.
 */
export function checkMetricsKnown({ collectMetrics, metricsUrl }: ServiceSpec, address: string): void {
  if (collectMetrics && metricsUrl === undefined && !isOfThisMachine(address))
    throw usage('the address of the metrics is unknown', 'add --metrics-url http://HOST:PORT/metrics');
}

/**
 * Returns the devices of a server of which only the address, and maybe that of its metrics, is
 * known. `model` is null where the page may count any model: then nothing tells whether it is of
 * another server.
 */
export const devicesAt = (address: string, { metricsUrl }: ServiceSpec, model: string | null): Devices =>
  listDevices({ server: { url: address, emulated: null }, ...(metricsUrl !== undefined && { metricsUrl }) }, model);

const usage = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
