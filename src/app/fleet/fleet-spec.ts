import { TrituneError } from '#base/errors.ts';
import { optionFlag } from '#base/option-flag.ts';
import { toCombination } from '#spec/combination-of.ts';
import { checkCombination } from '#spec/combinations.ts';
import { type HeaderSpec, headerSpec, type TlsSpec, tlsSpec } from '#spec/server-spec.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import { type AgentsSpec, agentsSpec, type TrafficSpec } from '#spec/traffic-spec.ts';
import type { ResumeTrust } from '../study/open-study.ts';

/**
 * A worker's own settings, the same for all studies: its server, and the agents that send to it, if
 * any.
 */
export interface OwnSpec {
  readonly server: StudySpec['server'];
  readonly agents: AgentsSpec;
  /** Whether it goes on with studies in its directory that it did not begin. */
  readonly trustRun?: boolean | undefined;
}

/**
 * Returns how a worker trusts the journals in its directory: it knows them by its key, which it
 * must keep as well.
 */
export const fleetTrust = ({ server, trustRun }: OwnSpec, tell: (line: string) => void): ResumeTrust => ({
  trustRun,
  tell,
  typed: server,
  advice: 'start the worker with --trust-run, and keep its configuration folder (XDG_CONFIG_HOME) over restarts',
});

/** Whether an option is given, its name, and what to do instead. */
type Refused = readonly [isStated: boolean, what: string, hint: string];

/**
 * Checks that a fleet can run the study: each server must be a Triton with its own worker. Errors:
 * USAGE.
 */
export function checkFleetSpec(spec: StudySpec): void {
  const { accuracy, adapter, sampler, server, trace, traffic } = spec;
  const ofWorkers = 'leave it out: the workers name the servers, with tritune fleet worker --server HOST:8001';
  const wrong: readonly Refused[] = [
    [adapter !== undefined, '--adapter', 'tune this server without --temporal: workers drive Tritons only'],
    [server.launch !== undefined, '--launch', ofWorkers],
    [
      accuracy?.command !== undefined,
      '--accuracy-command',
      'tune one server without --temporal: workers run no commands on outputs',
    ],
    [
      server.launchCommand !== undefined,
      '--launch-command',
      'start the servers yourself, or tune one without --temporal',
    ],
    [sampler.priors !== undefined, '--prior', 'leave it out: the workers do not have the directories'],
    [trace === true, '--trace', 'leave it out, and trace the best on one server afterwards'],
    ...ownOfServers.map((key) => [server[key] !== undefined, optionFlag(key), ofWorkers] as const),
    [
      agentKeys.some((key) => traffic[key] !== undefined),
      '--agents',
      'give each worker its own agents: tritune fleet worker --agents HOST:7411,…',
    ],
  ];
  const [, what, hint] = wrong.find(([isStated]) => isStated) ?? [];
  if (what !== undefined && hint !== undefined)
    throw new TrituneError('USAGE', `${what} cannot be used with --temporal`, hint);
  checkCombination(toCombination(spec, true));
}

/**
 * Returns the study's spec on a worker's own server, with the load from the worker's own agents.
 * Models that the worker or the study protects stay protected.
 */
export function onServer(spec: StudySpec, { server, agents }: OwnSpec): StudySpec {
  const { restore, restoreFirst = server.restoreFirst, endpoint, engineSettings } = spec.server;
  const protect = [...new Set([...(server.protect ?? []), ...(spec.server.protect ?? [])])];
  return {
    ...spec,
    server: {
      ...server,
      restore,
      ...(restoreFirst !== undefined && { restoreFirst }),
      ...(endpoint !== undefined && { endpoint }),
      ...(engineSettings !== undefined && { engineSettings }),
      ...(protect.length > 0 && { protect }),
    },
    traffic: { ...withoutAgents(spec.traffic), ...agents },
  };
}

/** The options that say where a server is and how to talk to it. Each worker has its own. */
const ownOfServers = [
  ...(['url', 'controlUrl', 'metricsUrl'] as const),
  ...(Object.keys(tlsSpec.shape) as (keyof TlsSpec)[]),
  ...(Object.keys(headerSpec.shape) as (keyof HeaderSpec)[]),
];

/** The part of a spec about agents. */
export const agentsIn = (traffic: TrafficSpec): AgentsSpec =>
  Object.fromEntries(agentKeys.flatMap((key) => (traffic[key] === undefined ? [] : [[key, traffic[key]]])));

const agentKeys = Object.keys(agentsSpec.shape) as readonly (keyof AgentsSpec)[];

const withoutAgents = (traffic: TrafficSpec): TrafficSpec =>
  Object.fromEntries(
    Object.entries(traffic).filter(([key]) => !agentKeys.includes(key as keyof AgentsSpec)),
  ) as TrafficSpec;
