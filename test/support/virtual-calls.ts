import { NS_PER_MS } from '#base/units.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import { serviceMethod } from '#triton/wire/proto.ts';
import { fp32Input, inferMessage } from './infer-clients.ts';
import { openVirtualEmulator, type VirtualEmulator } from './virtual-emulator.ts';

/** How an infer call ended in virtual time. */
export interface TimedAnswer {
  /** '' when it was answered. */
  readonly message: string;
  readonly sentMs: number;
  readonly endedMs: number;
}

/** What the statistics of a model say, times in milliseconds. */
export interface ReadStatistics {
  readonly inferences: number;
  readonly executions: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly queueMs: number;
  readonly inferMs: number;
}

/** The calls of a client to an emulator in virtual time, which compute takes none of. */
export class VirtualCalls {
  readonly #emulator: VirtualEmulator;

  constructor(options: Parameters<typeof openVirtualEmulator>[0]) {
    this.#emulator = openVirtualEmulator(options);
  }

  nowMs(): number {
    return this.#emulator.clock.nowNs() / NS_PER_MS;
  }

  close(): void {
    this.#emulator.close();
  }

  /** Sends FP32 zeros of shape [batch, 4] as IN. */
  async infer(model: string, batch = 1): Promise<TimedAnswer> {
    const sentMs = this.nowMs();
    const { failure } = await this.#emulator.grpc('ModelInfer', [inferMessage(model, [fp32Input([batch, 4])])]);
    return { message: failure?.message ?? '', sentMs, endedMs: this.nowMs() };
  }

  /** Returns the milliseconds for this many requests, `clients` of them in flight at a time. */
  async closedLoopMs(model: string, clients: number, requests: number): Promise<number> {
    const startMs = this.nowMs();
    let left = requests;
    const client = async (): Promise<void> => {
      while (left-- > 0) await this.infer(model);
    };
    await Promise.all(Array.from({ length: clients }, client));
    return this.nowMs() - startMs;
  }

  /** Returns the server's words when it refuses, or ''. */
  async load(model: string, config?: ModelConfig): Promise<string> {
    const parameters = config && { config: { string_param: JSON.stringify(config) } };
    return this.#call('RepositoryModelLoad', { model_name: model, ...(parameters && { parameters }) }).then(
      () => '',
      (error: Error) => error.message,
    );
  }

  async unload(model: string): Promise<void> {
    await this.#call('RepositoryModelUnload', { model_name: model });
  }

  async isReady(model: string): Promise<boolean> {
    return (await this.#call('ModelReady', { name: model })).ready === true;
  }

  async config(model: string): Promise<ModelConfig> {
    return (await this.#call('ModelConfig', { name: model })).config as ModelConfig;
  }

  async statistics(model: string): Promise<ReadStatistics> {
    const { model_stats: all } = await this.#call('ModelStatistics', { name: model });
    const [one] = all as Record<string, unknown>[];
    const parts = (one?.inference_stats ?? {}) as Record<string, { count?: number; ns?: number } | undefined>;
    const ms = (name: string): number => (parts[name]?.ns ?? 0) / NS_PER_MS;
    return {
      inferences: Number(one?.inference_count ?? 0),
      executions: Number(one?.execution_count ?? 0),
      succeeded: parts.success?.count ?? 0,
      failed: parts.fail?.count ?? 0,
      queueMs: ms('queue'),
      inferMs: ms('compute_infer'),
    };
  }

  /** Throws the failure when there is one. */
  async #call(method: string, request: object): Promise<Record<string, unknown>> {
    const { path: _, requestType, responseType } = serviceMethod(method);
    const bytes = Buffer.from(requestType.encode(requestType.fromObject(request)).finish());
    const { failure, messages } = await this.#emulator.grpc(method, [bytes]);
    if (failure) throw failure;
    return responseType.toObject(responseType.decode(messages[0] as Uint8Array), { longs: Number, enums: String });
  }
}
