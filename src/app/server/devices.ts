import { hostname } from 'node:os';
import { realClock } from '../../base/clock.ts';
import { followLines } from '../../launch/follow-lines.ts';
import { type DeviceProbe, metricsProbe } from '../../profiler/devices/device-probe.ts';
import { hostWork } from '../../profiler/devices/host-work.ts';
import { nvidiaSmi, withGpusOf } from '../../profiler/devices/nvidia-smi.ts';
import type { OpenServer } from './open-server.ts';

/** What reads the devices of a server; `close` ends what it started for that. */
export interface Devices {
  readonly probe: DeviceProbe;
  /** As `LevelOptions.hostWorkUs`; absent where the server is emulated or on another machine. */
  readonly hostWorkUs?: () => number;
  close(): Promise<void>;
}

/**
 * The server's metrics page, and for the GPU figures that are not there, the nvidia-smi of this machine, if the server is
 * on it. An emulated server's GPU is not this machine's.
 */
export function devicesOf(
  { server, metricsUrl, metricsTls }: Pick<OpenServer, 'server' | 'metricsUrl' | 'metricsTls'>,
  model: string,
): Devices {
  const page = metricsProbe(metricsUrl, model, metricsTls);
  if (server.emulated !== null || !isOfThisMachine(server.url)) return { probe: page, close: async () => undefined };
  const gpus = nvidiaSmi(followLines);
  return { probe: withGpusOf(gpus, page), hostWorkUs: hostWork(realClock.nowNs), close: () => gpus.close() };
}

/** Whether `HOST:PORT` is about this machine, by its name alone. */
export function isOfThisMachine(address: string): boolean {
  const host = address.slice(0, address.lastIndexOf(':')).replace(/^\[|\]$/g, '');
  return /^127\./.test(host) || ['localhost', '::1', hostname()].includes(host);
}
