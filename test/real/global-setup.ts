import { readFile, rm } from 'node:fs/promises';
import type { TestProject } from 'vitest/node';
import { freePorts } from '#launch/free-ports.ts';
import type { LaunchedServer } from '#launch/types.ts';
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

/**
 * One real Triton for the whole suite. It is never skipped: when it does not come up, the suite
 * fails. Triton 2.51 dies now and then while models are loaded and refused (about once in a hundred
 * runs of this suite). It is started again then, the end of its log is printed, and the
 * configuration of the suite lets a test that lost its server run once more.
 */
export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const modelRepository = await makeModelRepository();
  const [grpc, http, metrics] = (await freePorts(3)) as [number, number, number];
  const start = (): Promise<LaunchedServer> =>
    startRealTriton(modelRepository, {
      loadModels: ['sleeper', 'mlp_onnx', 'two_at_most'],
      ports: { grpc, http, metrics },
    });
  let isOver = false;
  let server = await start();
  let starting = Promise.resolve();
  const restartAfter = ({ ended, logFile }: LaunchedServer): void => {
    starting = ended.then(async () => {
      if (isOver) return;
      // biome-ignore lint/suspicious/noConsole: nobody should miss it
      console.error(`the real Triton ended by itself, and is started again; its log ends:\n${await logEnd(logFile)}`);
      server = await start();
      restartAfter(server);
    });
  };
  restartAfter(server);
  const { grpcUrl, httpUrl, metricsUrl } = server;
  project.provide('realServer', { grpcUrl, httpUrl, metricsUrl, modelRepository });
  return async () => {
    isOver = true;
    await server.stop();
    await starting;
    await rm(modelRepository, { recursive: true, force: true });
  };
}

const logEnd = async (file: string): Promise<string> =>
  (await readFile(file, 'utf8')).split('\n').slice(-15).join('\n');
