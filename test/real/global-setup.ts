import { rm } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import { makeModelRepository, startRealTriton } from '../support/real-triton.ts';

/** What the suite's server is reached by. */
export interface RealServer {
  readonly grpcUrl: string;
  readonly httpUrl: string;
  readonly metricsUrl: string;
  readonly modelRepository: string;
}

declare module 'vitest' {
  export interface ProvidedContext {
    readonly realServer: RealServer;
  }
}

/** One real Triton for the whole suite. It is never skipped: when it does not come up, the suite fails. */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const modelRepository = await makeModelRepository();
  const server = await startRealTriton(modelRepository, { loadModels: ['sleeper', 'mlp_onnx', 'two_at_most'] });
  const { grpcUrl, httpUrl, metricsUrl } = server;
  project.provide('realServer', { grpcUrl, httpUrl, metricsUrl, modelRepository });
  return async () => {
    await server.stop();
    await rm(modelRepository, { recursive: true, force: true });
  };
}
