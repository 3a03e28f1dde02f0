import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { canonicalJson, type Json } from '#base/json.ts';
import type { LaunchedServer } from '#launch/types.ts';
import { connectGrpc } from '#triton/control/connect.ts';
import type { TritonClient } from '#triton/types.ts';
import { makeModelRepository, startRealTriton } from '../../test/support/real-triton.ts';
import { LoadLog } from './moments.ts';
import { addNapper, type Kind, modelsToLoad, type Subject, subjectsOn } from './subjects.ts';

/**
 * What a server says of models: their configs as it writes them, but for the order of keys, which
 * it does not keep; and an answer of the first.
 */
export type Served = Readonly<Record<string, string>>;

/** A real Triton with the models of all kinds. */
export class Stage {
  readonly folder: string;
  readonly server: LaunchedServer;
  readonly client: TritonClient;
  readonly log: LoadLog;
  readonly #subjects: ReadonlyMap<Kind, Subject>;
  readonly #repository: string;
  #hasEnded = false;

  private constructor(
    folder: string,
    repository: string,
    server: LaunchedServer,
    subjects: ReadonlyMap<Kind, Subject>,
  ) {
    this.folder = folder;
    this.server = server;
    this.#subjects = subjects;
    this.client = connectGrpc(server.grpcUrl);
    this.log = new LoadLog(server.logFile);
    this.#repository = repository;
    void server.ended.then(() => {
      this.#hasEnded = true;
    });
  }

  /** `folder`: for the files of this bench. */
  static async start(folder: string): Promise<Stage> {
    const repository = await makeModelRepository();
    await addNapper(repository);
    const extraArgs = ['--disable-auto-complete-config'];
    const server = await startRealTriton(repository, { loadModels: modelsToLoad, extraArgs });
    const subjects = await subjectsOn(server, await mkdtemp(join(folder, 'subjects-')));
    return new Stage(folder, repository, server, subjects);
  }

  /** Triton 2.51 dies now and then while models are loaded. */
  get hasEnded(): boolean {
    return this.#hasEnded;
  }

  subject(kind: Kind): Subject {
    return this.#subjects.get(kind) as Subject;
  }

  /** What the server serves now of these models. */
  async served(models: readonly string[]): Promise<Served> {
    const configs = await Promise.all(
      models.map(async (model) => [model, await this.#textAt(`${model}/config`)] as const),
    );
    return Object.fromEntries([...configs, ['answer', await this.#answer(models[0] ?? '')]]);
  }

  async #answer(model: string): Promise<string> {
    const inputs = [{ name: 'INPUT', datatype: 'FP32', shape: [1, 8], data: [1, 2, 3, 4, 5, 6, 7, 8] }];
    return this.#textAt(`${model}/infer`, { method: 'POST', body: JSON.stringify({ inputs }) });
  }

  async #textAt(path: string, how: RequestInit = {}): Promise<string> {
    const reply = await fetch(`http://${this.server.httpUrl}/v2/models/${path}`, how);
    return canonicalJson((await reply.json()) as Json);
  }

  async close(): Promise<void> {
    await this.client.close();
    await this.server.stop();
    await rm(this.#repository, { recursive: true, force: true });
  }
}
