import { createControl } from '#adapter/triton/control.ts';
import { createProfile } from '#adapter/triton/profile.ts';
import { realClock } from '#base/clock.ts';
import { nullRuns } from '#loadgen/client/ceiling.ts';
import { prepareInputs } from '#loadgen/inputs.ts';
import { openTransport } from '#loadgen/transports/open.ts';
import { openWorkers } from '#loadgen/workers/open-workers.ts';
import type { WindowRule } from '#profiler/level-options.ts';
import type { Measurement } from '#profiler/measurement.ts';
import { toCandidate, toModelConfig } from '#space/model-configs.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { connectGrpc } from '#triton/control/connect.ts';

/**
 * A config of the model, in what batching and instances come to, under so many requests in flight.
 */
export interface Setting {
  readonly instances: number;
  readonly maxBatchSize: number;
  readonly queueDelayUs: number;
  readonly concurrency: number;
}

/** A model on a server, measured as `tune` measures it. */
export interface TunedServer {
  /** The config that it had at first. */
  readonly original: ModelConfig;
  configOf(setting: Setting): ModelConfig;
  measure(setting: Setting): Promise<Measurement>;
  /** Puts the model back as it was, and lets go of the connections. */
  close(): Promise<void>;
}

const TIMEOUT_MS = 30_000;

/** Connects to a model on CPUs over gRPC. `windows`: how long each setting is measured. */
export async function openTunedServer(
  grpcUrl: string,
  model: string,
  windows: Partial<WindowRule>,
): Promise<TunedServer> {
  const client = connectGrpc(grpcUrl);
  const [original, metadata] = await Promise.all([client.modelConfig(model), client.modelMetadata(model)]);
  const inputs = prepareInputs(metadata, original, { seed: 1, batch: 1, kind: 'zero' });
  const to = { url: grpcUrl, timeoutMs: TIMEOUT_MS };
  const transport = openTransport('grpc', to);
  const workers = openWorkers(1, { protocol: 'grpc', options: to });
  const runs = nullRuns(workers, { protocol: 'grpc', requests: inputs });
  await runs.warmUp();
  const control = createControl(client, [{ model, config: original, wasLoaded: true }], {
    clock: realClock,
    restore: 'config',
    loadTimeoutMs: TIMEOUT_MS,
    settleTimeoutMs: TIMEOUT_MS,
  });
  const profile = createProfile({
    transport,
    openFlow: (order) => workers.openFlow(order),
    watchClient: workers.watchClient,
    requestsFor: (candidate) => inputs.forConfig(toModelConfig(candidate)),
    stats: client,
    clock: realClock,
    percentile: 99,
    windows,
    clientCeiling: runs.ceiling,
  });
  const signal = new AbortController().signal;
  return {
    original,
    configOf: (setting) => configOf(original, setting),
    measure: async ({ concurrency, ...setting }) => {
      const config = configOf(original, setting);
      const applied = await control.apply(toCandidate(config), signal);
      const level = { mode: 'concurrency', value: concurrency } as const;
      return profile.measure(applied, level, { signal, onProgress: () => undefined });
    },
    close: async () => {
      await control.restore();
      await workers.close();
      await transport.close();
      await client.close();
    },
  };
}

function configOf(original: ModelConfig, setting: Omit<Setting, 'concurrency'>): ModelConfig {
  return {
    ...original,
    max_batch_size: setting.maxBatchSize,
    instance_group: [{ ...original.instance_group?.[0], count: setting.instances }],
    dynamic_batching: { max_queue_delay_microseconds: setting.queueDelayUs },
  };
}
