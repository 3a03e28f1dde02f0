import type { ClientFigures } from '../client-figures.ts';
import { meanGpuMetrics } from '../devices/gpu-metrics.ts';
import type { Measurement } from '../measurement.ts';
import type { DeviceMetrics } from '../server-figures.ts';

/**
 * Returns the figures of devices, host and client over all workloads: means, the largest memory,
 * and the worst figures of the client.
 */
export function mergedSurroundings(
  parts: readonly Pick<Measurement, 'device' | 'client' | 'hostWorkUs' | 'requests'>[],
): Pick<Measurement, 'device' | 'client' | 'hostWorkUs'> {
  const hostWorkUs = computeMean(parts.map((part) => part.hostWorkUs));
  return {
    device: mergedDevice(parts.map(({ device }) => device)),
    client: mergedClient(parts),
    ...(hostWorkUs !== undefined && { hostWorkUs }),
  };
}

function mergedDevice(devices: readonly DeviceMetrics[]): DeviceMetrics {
  const gpus = meanGpuMetrics(devices.map((device) => device.gpus ?? []));
  return {
    ...means(devices, ['gpuUtilizationPercent', 'gpuPowerW', 'cpuUtilizationPercent']),
    ...most(devices, ['gpuMemoryMiB']),
    ...(gpus.length > 0 && { gpus }),
  };
}

function mergedClient(parts: readonly Pick<Measurement, 'client' | 'requests'>[]): ClientFigures {
  const clients = parts.map(({ client }) => client);
  const requests = parts.reduce((sum, part) => sum + part.requests, 0);
  const cpuUs = parts.reduce((sum, part) => sum + part.client.cpuUsPerRequest * part.requests, 0);
  const gc = clients.flatMap(({ gcMs }) => gcMs ?? []);
  const bound = clients.filter((client) => client.bound);
  const [first] = bound;
  const unheld = clients.find(({ unheldRate }) => unheldRate)?.unheldRate;
  return {
    cpuUsPerRequest: requests > 0 ? cpuUs / requests : 0,
    eventLoopDelayMs: Math.max(...clients.map(({ eventLoopDelayMs }) => eventLoopDelayMs)),
    ...(gc.length > 0 && { gcMs: gc.reduce((sum, ms) => sum + ms, 0) }),
    ...most(clients, ['besideCpuShare', 'tailShiftMs', 'itlShiftMs']),
    bound: bound.length > 0,
    ...(first?.reason !== undefined && { reason: first.reason }),
    // A limit that is permanent under one workload is permanent.
    ...(first && bound.every(({ starved }) => starved) && { starved: true }),
    ...(unheld && { unheldRate: unheld }),
  };
}

type Figures<K extends string> = { readonly [F in K]?: number };

/** Returns the largest of each figure. Leaves out figures that no part has. */
function most<K extends string>(parts: readonly Figures<K>[], names: readonly K[]): Figures<K> {
  return picked(names, (name) => {
    const known = parts.flatMap((part) => part[name] ?? []);
    return known.length > 0 ? Math.max(...known) : undefined;
  });
}

/** Returns the mean of each figure. Leaves out figures that no part has. */
const means = <K extends string>(parts: readonly Figures<K>[], names: readonly K[]): Figures<K> =>
  picked(names, (name) => computeMean(parts.map((part) => part[name])));

function picked<K extends string>(names: readonly K[], of: (name: K) => number | undefined): Figures<K> {
  return Object.fromEntries(
    names.flatMap((name) => {
      const value = of(name);
      return value === undefined ? [] : [[name, value]];
    }),
  ) as Figures<K>;
}

function computeMean(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length > 0 ? known.reduce((sum, value) => sum + value, 0) / known.length : undefined;
}
