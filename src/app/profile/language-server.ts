import { MS_PER_S } from '../../base/units.ts';
import type { Protocol } from '../../spec/server-spec.ts';
import type { PromptSpec } from '../../workload/prompt-spec.ts';
import { type FoundEndpoint, findEndpoint } from '../server/find-endpoint.ts';
import { type askedOf, frontsOf, serverOf } from './endpoint-asked.ts';
import { openEndpointTarget } from './endpoint-target.ts';
import type { LevelTarget } from './measuring.ts';
import type { ProfilePlan } from './plan.ts';
import type { EndpointSpec, ProfileSpec } from './profile-spec.ts';

/** A language model that answers, and what it will be asked. */
export interface LanguageServer<O> {
  readonly model: string;
  readonly endpoint: string;
  readonly server: FoundEndpoint['server'] & { readonly url: string };
  /** The options, with the protocol of the endpoint. */
  readonly spec: O & { readonly protocol: Protocol };
  readonly plan: ProfilePlan;
  /** Opens the load generator. `maxInFlight` limits the requests in flight at a rate. */
  open(signal: AbortSignal, maxInFlight?: number): Promise<LevelTarget>;
}

/**
 * Finds the endpoint of a language model, and prepares its requests. `asFarAsKnown`: the plan from the options alone. Errors: USAGE, INPUT_INVALID,
 * MODEL_*, SERVER_*.
 */
export async function findLanguageServer<O extends ProfileSpec & EndpointSpec & PromptSpec>(
  options: O,
  asked: ReturnType<typeof askedOf>,
  asFarAsKnown: ProfilePlan,
): Promise<LanguageServer<O>> {
  const where = await serverOf(options);
  const how = { timeoutMs: options.requestTimeout * MS_PER_S, extra: options.extraInputs };
  const wanted = { model: options.model, modelVersion: options.modelVersion ?? '' };
  const { endpoint, model, server } = await findEndpoint({ ...where, ...asked, ...wanted, ...how });
  const { fronts, plan } = await frontsOf({ ...options, model }, asFarAsKnown);
  const protocol: Protocol = endpoint.kind === 'triton-grpc' ? 'grpc' : 'http';
  const spec = { ...options, protocol };
  const to = { ...where, ...how, model, endpoint };
  return {
    model,
    endpoint: endpoint.kind,
    server: { ...server, url: where.address },
    spec,
    plan,
    open: (signal, maxInFlight) => openEndpointTarget({ options: to, fronts, maxInFlight }, spec, plan, signal),
  };
}
