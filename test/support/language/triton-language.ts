import { cp, mkdir, mkdtemp, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { realTriton } from '../real-triton.ts';
import { llamaLibrary, smolModel } from './packages.ts';

const backendSource = resolve(import.meta.dirname, '../../real/language/llama');

/** A model repository with a real language model, and the options of a Triton that serves it. */
export interface LanguageRepository {
  readonly repository: string;
  /** `1/model.json` of the model as it lies on the disk. */
  readonly settings: Readonly<Record<string, unknown>>;
  readonly serverArgs: readonly string[];
}

/**
 * Makes a repository with the model `smollm2`, whose folder holds what one of Triton's vLLM backend
 * does: a config that names the backend, and `1/model.json`. The backend is one of Python, in a
 * folder of its own beside that of Python.
 */
export async function languageRepository(given: Readonly<Record<string, unknown>> = {}): Promise<LanguageRepository> {
  const [{ backendDirectory }, model, libraries] = [await realTriton(), await smolModel(), await llamaLibrary()];
  const folder = await mkdtemp(join(tmpdir(), 'tritune-language-'));
  const [repository, backends] = [join(folder, 'models'), join(folder, 'backends')];
  const version = join(repository, 'smollm2', '1');
  await mkdir(version, { recursive: true });
  await mkdir(backends);
  await symlink(join(backendDirectory, 'python'), join(backends, 'python'));
  await cp(backendSource, join(backends, 'llama'), { recursive: true });
  const settings = {
    model,
    ...libraries,
    max_num_seqs: 2,
    max_num_batched_tokens: 64,
    max_model_len: 256,
    threads: 1,
    ...given,
  };
  await writeFile(join(version, 'model.json'), JSON.stringify(settings));
  const config = 'name: "smollm2"\nbackend: "llama"\ninstance_group [{ count: 1 kind: KIND_MODEL }]\n';
  await writeFile(join(repository, 'smollm2', 'config.pbtxt'), config);
  return { repository, settings, serverArgs: [`--backend-directory=${backends}`] };
}
