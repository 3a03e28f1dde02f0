import { TrituneError } from '../../base/errors.ts';
import { MS_PER_S } from '../../base/units.ts';
import type { EndpointOptions } from '../../loadgen/endpoints/endpoint.ts';
import type { Measurement } from '../../profiler/measurement.ts';
import type { PlayedFront } from '../../profiler/play.ts';
import type { ClientSpec } from '../../spec/traffic-spec.ts';
import { devicesOf, isOfThisMachine } from '../server/devices.ts';
import type { ClassPrompts } from '../traffic/class-prompts.ts';
import { openLanguageTraffic } from '../traffic/open-language.ts';
import type { Sender } from '../traffic/sender.ts';
import type { WorkloadFront } from '../traffic/workload.ts';
import { languageWindows } from './language-windows.ts';
import { type LevelTarget, levelTarget, type TargetParts } from './measuring.ts';
import type { ProfilePlan } from './plan.ts';
import type { EndpointSpec, GoodputLimits, LevelSpec, MeasuringSpec, ProfileOutputs } from './profile-spec.ts';

/** How levels are measured on a language model. */
export type EndpointLevelSpec = LevelSpec &
  MeasuringSpec &
  ClientSpec &
  EndpointSpec &
  GoodputLimits &
  Pick<ProfileOutputs, 'collectMetrics' | 'metricsUrl'>;

/** A model, its requests, and its part of the workload, if any. */
export interface EndpointFront {
  readonly model: string;
  readonly prompts: ClassPrompts;
  readonly part?: WorkloadFront;
}

/** What to measure, and with what. */
export interface EndpointAsked {
  readonly options: EndpointOptions;
  /** The models; the first is the one in the options, unless the classes of a workload name others. */
  readonly fronts: readonly [EndpointFront, ...EndpointFront[]];
  /** The maximum number of requests in flight at a request rate. */
  readonly maxInFlight: number | undefined;
}

/**
 * Opens a language model, which is measured like a tensor model, plus the times of its tokens. Errors: USAGE. Those of `measure`: SERVER_*,
 * INTERRUPTED.
 */
export async function openEndpointTarget(
  { options, fronts, maxInFlight }: EndpointAsked,
  spec: EndpointLevelSpec,
  plan: ProfilePlan,
  signal: AbortSignal,
): Promise<LevelTarget> {
  const { address, endpoint } = options;
  if (spec.collectMetrics && spec.metricsUrl === undefined && !isOfThisMachine(address)) {
    throw new TrituneError(
      'USAGE',
      'the address of the metrics is unknown',
      'add --metrics-url http://HOST:PORT/metrics',
    );
  }
  const senders: Sender[] = [];
  const played: PlayedFront[] = [];
  for (const { model, prompts, part } of fronts) {
    const { requests } = prompts;
    const sender = await openLanguageTraffic({ ...options, model }, requests, spec);
    senders.push(sender);
    played.push({ ...sender.sending, requests, stats: null, classes: part?.indexes });
  }
  const metrics = spec.metricsUrl !== undefined && { metricsUrl: spec.metricsUrl };
  const isTriton = endpoint.kind.startsWith('triton');
  const parts: TargetParts = {
    serviceKind: isTriton ? 'TRITON' : 'OPENAI',
    isDecoupled: isTriton,
    assumptions: fronts.flatMap(({ prompts }) => prompts.notes),
    fronts: played,
    devices: devicesOf({ server: { url: address, emulated: null }, ...metrics }, options.model),
    usual: {
      windows: languageWindows,
      // Requests left over from one level must not affect the next.
      drainMs: spec.requestTimeout * MS_PER_S,
      ...(maxInFlight !== undefined && { openLoop: { maxInFlight } }),
    },
    check: (measurement) => checkServed(measurement, address),
    close: async () => {
      for (const sender of senders) await sender.close();
    },
  };
  return levelTarget(parts, spec, plan, signal);
}

/** Errors: SERVER_FAILED for a level without a single complete reply. */
function checkServed({ requests, errorRate, failures }: Measurement, address: string): void {
  const [first] = failures;
  if (requests === 0 || errorRate < 1 || first === undefined) return;
  throw new TrituneError(
    'SERVER_FAILED',
    `${address} gave no complete reply: ${first.kind}: ${first.firstMessage}`,
    'read the log of the server',
  );
}
