import { TrituneError } from '#base/errors.ts';
import { nullRuns } from '#loadgen/client/ceiling.ts';
import type { PreparedInputs } from '#loadgen/inputs.ts';
import { defaultOpenLoopRule } from '#loadgen/open-loop.ts';
import type { SequenceRule } from '#loadgen/sequences.ts';
import type { OpenOptions } from '#loadgen/transports/open.ts';
import type { ReplyCheck, RequestSet, Transport } from '#loadgen/types.ts';
import type { OnObserved } from '#loadgen/workers/observed-requests.ts';
import type { StudySpec } from '#spec/study-spec.ts';
import type { TrafficSpec, TransportSpec } from '#spec/traffic-spec.ts';
import type { LevelRange } from '#study/types.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { splitAddresses } from '#triton/wire/address-list.ts';
import type { OpenServer } from '../server/open-server.ts';
import { checkAgents, startInferThreads } from './client-threads.ts';
import { type Sender, threadSender } from './sender.ts';
import { openSharedTransport } from './shared-memory.ts';
import { createReplyCheck, findSequences } from './tensor-requests.ts';

/**
 * Returns the options of the transport. Errors: USAGE for a decoupled model without streams, which
 * it requires.
 */
export function toTransportOptions(
  { streaming, compression, tensorFormat }: TransportSpec,
  { name, model_transaction_policy }: ModelConfig,
): Pick<OpenOptions, 'streaming' | 'compression' | 'tensorFormat'> {
  if (model_transaction_policy?.decoupled && !streaming) {
    throw new TrituneError(
      'USAGE',
      `'${name}' is decoupled and accepts requests on gRPC streams only`,
      'add -i grpc --streaming',
    );
  }
  return { streaming, tensorFormat, compression: compression === 'none' ? undefined : compression };
}

/**
 * The requests, their transport and their senders. `seed` seeds everything random in them.
 * `mostBatch`: the samples of the largest request, if the study varies them from `batch` on.
 */
export type SeededTraffic = TrafficSpec & { readonly seed: number; readonly mostBatch?: number };

/** The traffic of a study. */
export const toTraffic = ({ traffic, levels, seed }: StudySpec): SeededTraffic => ({
  ...traffic,
  seed,
  ...(levels.batch && { batch: levels.batch.low, mostBatch: levels.batch.high }),
});

export interface TrafficOrder {
  readonly spec: SeededTraffic;
  /** The model's config when the requests are made. */
  readonly config: ModelConfig;
  readonly inputs: PreparedInputs;
  /** Other inputs that are sent too, such as those of further workloads. */
  readonly otherInputs?: readonly PreparedInputs[] | undefined;
  readonly levels: LevelRange;
  readonly timeoutMs: number;
  /** Called for every request that the threads sent, soon after its end. */
  readonly onObserved?: OnObserved | undefined;
  /**
   * Checks the replies instead of comparing them with the expected outputs of the options; null for
   * no check.
   */
  readonly check?: ReplyCheck | null;
}

/** Sends requests to a server from this thread. */
export interface LocalTraffic {
  readonly transport: Transport;
  readonly sequences: SequenceRule | undefined;
  /**
   * Returns the requests for a config of the model, with `batch` samples if given. `from`: other
   * inputs than the ones it was opened for.
   */
  requestsFor(config: ModelConfig, batch?: number, from?: PreparedInputs): RequestSet;
  /** Closes the sockets and frees shared memory. */
  close(): Promise<void>;
}

/** Sends requests to a server from threads. */
export interface OpenTraffic extends Sender, Pick<LocalTraffic, 'requestsFor'> {}

type Opened = Pick<OpenServer, 'client' | 'server' | 'tls' | 'headers'>;

/**
 * Opens a transport as the options say, for a few requests. Errors: USAGE, UNSUPPORTED,
 * SERVER_FAILED.
 */
export async function openLocalTraffic(opened: Opened, requestedTraffic: TrafficOrder): Promise<LocalTraffic> {
  const { traffic, sequences, requestsFor } = await prepared(opened, requestedTraffic);
  return { transport: traffic.transport, sequences, requestsFor, close: () => traffic.close() };
}

/**
 * Does the same, and opens the threads that measure, warmed up against a server that does nothing.
 * Errors: the same.
 */
export async function openTraffic(opened: Opened, requestedTraffic: TrafficOrder): Promise<OpenTraffic> {
  checkAgents(requestedTraffic.spec);
  const { traffic, sequences, requestsFor, requests } = await prepared(opened, requestedTraffic);
  const { spec, onObserved } = requestedTraffic;
  const { protocol } = opened.server;
  const workers = await startInferThreads(spec, protocol, traffic.options, onObserved).catch(async (error: unknown) => {
    await traffic.close();
    throw error;
  });
  const { tls, check, streaming } = traffic.options;
  const runs = nullRuns(workers, { protocol, requests, sequences, streaming });
  // The null server cannot warm up the code that reads replies in detail.
  const isRead = check !== undefined || onObserved !== undefined;
  if (!isRead) await runs.warmUp();
  const sender = threadSender(workers, {
    transport: traffic.transport,
    sequences,
    // The null server has one thread, and neither TLS nor outputs.
    ...(!(tls || isRead || traffic.isShared) && { clientCeiling: runs.ceiling }),
  });
  return {
    sending: sender.sending,
    requestsFor,
    close: async () => {
      await sender.close();
      await traffic.close();
    },
  };
}

async function prepared(
  { client, server, tls, headers }: Opened,
  { spec, config, inputs, otherInputs = [], levels, timeoutMs, check: replyCheck }: TrafficOrder,
) {
  const sequences = findSequences(spec, config, levels);
  if (sequences && splitAddresses(server.url).length > 1)
    throw new TrituneError('USAGE', 'the requests of a sequence must go to one server', 'give one address with -u');
  const kind = toTransportOptions(spec, config);
  const check = replyCheck === undefined ? createReplyCheck(inputs, spec) : (replyCheck ?? undefined);
  if (check) checkReadable(spec, config);
  const maxInFlight = levels.mode === 'concurrency' ? levels.high : defaultOpenLoopRule.maxInFlight;
  const traffic = await openSharedTransport(
    server.protocol,
    { url: server.url, tls, timeoutMs, headers, check, timesRequests: true, ...kind },
    spec,
    client,
    { inputs: [inputs, ...otherInputs], config, maxInFlight },
  );
  const requestsFor = (candidate: ModelConfig, batch?: number, from = inputs): RequestSet =>
    traffic.placed(from.forConfig(candidate, batch));
  return { traffic, sequences, requests: requestsFor(config), requestsFor };
}

/**
 * Errors: USAGE for replies of a decoupled model in shared memory, where each overwrites the one
 * before.
 */
function checkReadable(
  { sharedMemory = 'none' }: SeededTraffic,
  { name, model_transaction_policy }: ModelConfig,
): void {
  if (sharedMemory === 'none' || !model_transaction_policy?.decoupled) return;
  throw new TrituneError(
    'USAGE',
    `'${name}' is decoupled: its replies overwrite each other in shared memory, so they cannot be checked`,
    'leave out --shared-memory, or the expected outputs',
  );
}
