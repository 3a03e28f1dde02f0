import { hostname } from 'node:os';
import { realClock } from '#base/clock.ts';
import { followLines } from '#launch/follow-lines.ts';
import { isLoopback } from '#loadgen/loopback.ts';
import { measureRoundTripMs } from '#loadgen/transports/round-trip.ts';
import { type DeviceProbe, metricsProbe } from '#profiler/devices/device-probe.ts';
import { hostWork } from '#profiler/devices/host-work.ts';
import { nvidiaSmi, withGpus } from '#profiler/devices/nvidia-smi.ts';
import { type Machine, readMachine } from '#profiler/machine.ts';
import { splitAddresses } from '#triton/wire/address-list.ts';
import type { OpenServer } from './open-server.ts';

/** Reads the devices of a server. `close` stops the processes that it started. */
export interface Devices {
  readonly probe: DeviceProbe;
  /** As `LevelOptions.hostWorkUs`; absent if the server is emulated or on another machine. */
  readonly hostWorkUs?: () => number;
  close(): Promise<void>;
}

/** A server whose devices are read; without a metrics address, only through nvidia-smi. */
export interface WatchedServer extends Partial<Pick<OpenServer, 'metricsUrl' | 'metricsTls' | 'headers'>> {
  readonly server: Pick<OpenServer['server'], 'url' | 'emulated'>;
}

/**
 * Reads the server's metrics page. If the server is on this machine, nvidia-smi adds the GPU
 * figures that the page lacks. An emulated server's GPU is not this machine's.
 */
export function listDevices({ server, metricsUrl, metricsTls, headers }: WatchedServer, model: string | null): Devices {
  const page: DeviceProbe =
    metricsUrl === undefined
      ? () => Promise.resolve(null)
      : metricsProbe(metricsUrl, model, { tls: metricsTls, headers });
  if (server.emulated !== null || !isOfThisMachine(server.url)) return { probe: page, close: async () => undefined };
  const gpus = nvidiaSmi(followLines);
  return { probe: withGpus(gpus, page), hostWorkUs: hostWork(realClock.nowNs), close: () => gpus.close() };
}

/**
 * Returns what is measured on and over, with the GPUs of a real server on this machine. Never
 * throws.
 */
export async function readServerMachine({ url, emulated }: WatchedServer['server']): Promise<Machine> {
  const [first = url] = splitAddresses(url);
  const roundTripMs = await measureRoundTripMs(first);
  const machine = await readMachine(followLines, { servesHere: isOfThisMachine(url), isEmulated: emulated !== null });
  return { ...machine, roundTripMs };
}

/**
 * True if the host in `HOST:PORT`, or in each of several, is this machine, judging by its name
 * alone.
 */
export const isOfThisMachine = (addresses: string): boolean =>
  splitAddresses(addresses).every(
    (address) => isLoopback(address) || address.slice(0, address.lastIndexOf(':')) === hostname(),
  );
