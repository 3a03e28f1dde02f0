import { TrituneError } from '../../base/errors.ts';
import { MS_PER_S } from '../../base/units.ts';
import type { EndpointOptions } from '../../loadgen/endpoints/endpoint.ts';
import { measureLevel } from '../../profiler/measure-level.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { ClientSpec } from '../../spec/traffic-spec.ts';
import { devicesOf, isOfThisMachine } from '../server/devices.ts';
import { openLanguageTraffic } from '../traffic/open-language.ts';
import type { PromptTraffic } from '../traffic/prompts.ts';
import { languageWindows } from './language-windows.ts';
import { type LevelTarget, measuringOf, reported } from './measuring.ts';
import type { ProfilePlan } from './plan.ts';
import type { EndpointSpec, LevelSpec, MeasuringSpec, ProfileOutputs } from './profile-spec.ts';

/** How levels are measured on a language model. */
export type EndpointLevelSpec = LevelSpec &
  MeasuringSpec &
  ClientSpec &
  EndpointSpec &
  Pick<ProfileOutputs, 'collectMetrics' | 'metricsUrl'>;

/** What is measured, and with what. */
export interface EndpointAsked {
  readonly options: EndpointOptions;
  readonly prompts: PromptTraffic;
  /** Beside a rate: requests in flight, at most. */
  readonly maxInFlight: number | undefined;
}

/** A language model, measured as a model of tensors is, with the times of its tokens. Errors: USAGE. Those of `measure`: SERVER_*, INTERRUPTED. */
export async function openEndpointTarget(
  { options, prompts, maxInFlight }: EndpointAsked,
  spec: EndpointLevelSpec,
  plan: ProfilePlan,
  signal: AbortSignal,
): Promise<LevelTarget> {
  const { address, endpoint } = options;
  if (spec.collectMetrics && spec.metricsUrl === undefined && !isOfThisMachine(address)) {
    throw new TrituneError('USAGE', 'there is no address of metrics', 'give the page with --metrics-url');
  }
  const traffic = await openLanguageTraffic(options, prompts.requests, spec);
  const metrics = spec.metricsUrl !== undefined && { metricsUrl: spec.metricsUrl };
  const devices = devicesOf({ server: { url: address, emulated: null }, ...metrics }, options.model);
  return {
    serviceKind: endpoint.kind.startsWith('triton') ? 'TRITON' : 'OPENAI',
    isDecoupled: endpoint.kind.startsWith('triton'),
    assumptions: prompts.notes,
    measure: async (level, listener) => {
      const measurement = await measureLevel({
        ...traffic.threads,
        requests: prompts.requests,
        level,
        stats: null,
        signal,
        ...measuringOf(spec, plan),
        windows: languageWindows,
        limits: spec.goodput,
        // Nothing of one level is left in the server when the next begins.
        drainMs: spec.requestTimeout * MS_PER_S,
        onProgress: (progress) => listener.onProgress(progress),
        deviceProbe: devices.probe,
        alarm: traffic.alarm,
        maxErrors: spec.maxErrors,
        ...(maxInFlight !== undefined && { openLoop: { maxInFlight } }),
      });
      checkServed(measurement, address);
      return reported(measurement, plan, endpoint.kind.startsWith('triton'));
    },
    close: async () => {
      await traffic.close();
      await devices.close();
    },
  };
}

/** Errors: SERVER_FAILED for a level without a single whole reply. */
function checkServed({ requests, errorRate, failures }: Measurement, address: string): void {
  const [first] = failures;
  if (requests === 0 || errorRate < 1 || first === undefined) return;
  throw new TrituneError(
    'SERVER_FAILED',
    `no whole reply came from ${address}: ${first.kind}: ${first.firstMessage}`,
    'see what the server logs',
  );
}
