import { type CapacityTarget, gpusOfUnknown, profileOf } from '../../../app/capacity/targets.ts';
import { openHttpTarget } from '../../../app/profile/http-target.ts';
import { planProfile } from '../../../app/profile/plan.ts';
import { isOfThisMachine } from '../../../app/server/devices.ts';
import { defaultWindowRule } from '../../../profiler/level-options.ts';
import { requestTo } from '../profile/http.ts';
import type { CapacityOptions } from './options.ts';

/** Opens any URL. Errors: USAGE, INPUT_INVALID, SERVER_*. */
export async function openHttp(given: CapacityOptions, signal: AbortSignal): Promise<CapacityTarget> {
  const { json, output, ...options } = profileOf(false, given);
  const plan = await planProfile(options, false);
  const to = await requestTo(options, undefined);
  const target = await openHttpTarget(to, options, plan, signal);
  return {
    target,
    plan,
    head: {
      model: options.model ?? to.url,
      server: { name: 'http', version: '', url: to.url, emulated: null },
      protocol: 'http',
    },
    windows: defaultWindowRule,
    // The machine that computes behind the URL is unknown.
    followsHost: isOfThisMachine(to.address),
    requestTimeoutSeconds: options.requestTimeout,
    batch: to.batch,
    gpusOf: gpusOfUnknown(options),
    close: () => target.close(),
  };
}
