import { clientFigures } from './client/client-figures.ts';
import { foreignTraffic } from './foreign-traffic.ts';
import { measureFront } from './fronts/measure-front.ts';
import { withSurroundings } from './fronts/surroundings.ts';
import type { LevelOptions } from './level-options.ts';
import type { Measurement } from './measurement.ts';

/**
 * Measures the served model at one load level: warms up, counts windows until the figures are
 * trustworthy, and reads the server's own statistics, the devices' metrics and the client's cost
 * over the same time. Afterwards nothing is in flight except requests that did not end within
 * `drainMs`. The transport stays open for the next level. Failed requests are part of the
 * measurement; it also says whether the client itself was the limit. Errors: SERVER_UNREACHABLE,
 * INTERRUPTED.
 */
export function measureLevel(options: LevelOptions): Promise<Measurement> {
  return withSurroundings(options, 1, async ({ gates, devices, use }) => {
    const front = await measureFront(options, gates, (progress) => {
      devices.readIfDue();
      options.onProgress?.(progress);
    });
    const client = await clientFigures(use(), [front]);
    const { budgetVerdict } = front.figures;
    return {
      ...front.frontFigures,
      ...(budgetVerdict && !client.starved && { budgetVerdict }),
      ...foreignTraffic(front.atRest),
      client,
    };
  });
}
