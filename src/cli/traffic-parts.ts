import { type Alarm, openAlarm } from '../base/alarm.ts';
import { clientCeiling } from '../loadgen/client-ceiling.ts';
import type { PreparedInputs } from '../loadgen/inputs.ts';
import { defaultOpenLoopRule } from '../loadgen/open-loop.ts';
import type { SequenceRule } from '../loadgen/sequences.ts';
import type { ReplyCheck, RequestSet, Transport } from '../loadgen/types.ts';
import type { LevelOptions } from '../profiler/level-options.ts';
import type { LevelRange } from '../study/types.ts';
import type { ModelConfig } from '../triton/model-config.ts';
import type { ClientFlags } from './client-options.ts';
import { clientThreadsOf } from './client-threads.ts';
import { headersOf } from './header-options.ts';
import type { OpenServer } from './open-server.ts';
import type { RequestOptions } from './request-options.ts';
import { replyCheckOf, sequencesOf } from './requests.ts';
import { openSharedTransport } from './shared-memory.ts';
import { type TransportFlags, transportOptionsOf } from './transport-options.ts';

export interface TrafficOptions extends RequestOptions, TransportFlags, ClientFlags {
  readonly seed: number;
}

export interface TrafficAsked {
  readonly options: TrafficOptions;
  /** Of the model as it is when the requests are made. */
  readonly config: ModelConfig;
  readonly inputs: PreparedInputs;
  readonly levels: LevelRange;
  readonly timeoutMs: number;
  /** Another thread is to send, since this one draws a screen. */
  readonly apart?: boolean;
  /** Looks at every good reply beside the check that the options ask for; on this thread only. */
  readonly onReply?: ReplyCheck | undefined;
}

/** What sends requests to a server, opened. */
export interface OpenTraffic {
  readonly transport: Transport;
  readonly alarm: Alarm;
  readonly sequences: SequenceRule | undefined;
  /** What sends in place of this thread; empty where this one does. */
  readonly threads: Pick<LevelOptions, 'openFlow' | 'watchClient'>;
  /** Undefined where nothing is known of the client's own limit. */
  readonly clientCeiling: (() => Promise<number | null>) | undefined;
  /** The requests as they are sent to a config of the model. */
  requestsFor(config: ModelConfig): RequestSet;
  /** Lets go of sockets and shared memory. */
  close(): Promise<void>;
}

/** Opens what the options say of how requests travel. Errors: USAGE, UNSUPPORTED, SERVER_FAILED. */
export async function openTraffic(
  { client, server, tls }: Pick<OpenServer, 'client' | 'server' | 'tls'>,
  { options, config, inputs, levels, timeoutMs, onReply, apart = false }: TrafficAsked,
): Promise<OpenTraffic> {
  const sequences = sequencesOf(options, config, levels);
  const kind = transportOptionsOf(options, config);
  const check = bothChecks(replyCheckOf(inputs, options), onReply);
  const headers = headersOf(options);
  const requests = inputs.forConfig(config);
  const maxInFlight = levels.mode === 'concurrency' ? levels.high : defaultOpenLoopRule.maxInFlight;
  const traffic = await openSharedTransport(
    server.protocol,
    { url: server.url, tls, timeoutMs, headers, check, ...kind },
    options,
    client,
    { requests, config, maxInFlight },
  );
  const workers = clientThreadsOf(options, server.protocol, traffic.options, apart);
  // The null server is one thread without TLS or outputs; another client's ceiling would be no evidence of this one's.
  const hasCeiling = !tls && !check && !traffic.isShared && !workers;
  const alarm = openAlarm();
  return {
    transport: traffic.transport,
    alarm,
    sequences,
    threads: workers ? { openFlow: workers.openFlow, watchClient: workers.watchClient } : {},
    clientCeiling: hasCeiling ? clientCeiling(server.protocol, requests, { ...kind, sequences, headers }) : undefined,
    requestsFor: (candidate) => traffic.placed(inputs.forConfig(candidate)),
    close: async () => {
      await alarm.close();
      await workers?.close();
      await traffic.close();
    },
  };
}

const bothChecks = (first: ReplyCheck | undefined, second: ReplyCheck | undefined): ReplyCheck | undefined =>
  first && second
    ? (request, outputs) => {
        const failure = second(request, outputs);
        return first(request, outputs) ?? failure;
      }
    : (first ?? second);
