import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { argumentsForConfigs } from '#launch/model-arguments.ts';

const AS_THEY_ARE = ['--disable-auto-complete-config'];
const tensors =
  'input [ { name: "I" data_type: TYPE_FP32 dims: [ 1 ] } ]\noutput [ { name: "O" data_type: TYPE_FP32 dims: [ 1 ] } ]';
const whole = `backend: "python"\nmax_batch_size: 4\n${tensors}`;
const source = 'class TritonPythonModel:\n    def execute(self, requests):\n        return []\n';

/**
 * A repository with these models: what is in their config.pbtxt, and the Python source of each
 * version.
 */
async function repositoryOf(models: Record<string, { config?: string; sources?: Record<string, string> }>) {
  const repository = await mkdtemp(join(tmpdir(), 'tritune-complete-'));
  for (const [model, { config, sources = { '1/model.py': source } }] of Object.entries(models)) {
    await mkdir(join(repository, model), { recursive: true });
    if (config !== undefined) await writeFile(join(repository, model, 'config.pbtxt'), config);
    for (const [file, text] of Object.entries(sources)) {
      await mkdir(join(repository, model, file, '..'), { recursive: true });
      await writeFile(join(repository, model, file), text);
    }
  }
  return repository;
}

describe('configs that Triton need not complete', () => {
  it.each([
    ['a plain class', source],
    ['one that inherits nothing', source.replace(':', '(object):')],
    ['one after other code', `import numpy\n\n${source}`],
  ])('are those of Python models with all that counts: %s', async (_, text) => {
    const repository = await repositoryOf({
      m: { config: whole, sources: { '1/model.py': text, '2/model.py': source } },
    });
    expect(await argumentsForConfigs(repository, ['m'])).toEqual(AS_THEY_ARE);
  });

  it('may name the file of the model', async () => {
    const config = `${whole}\ndefault_model_filename: "other.py"`;
    const repository = await repositoryOf({ m: { config, sources: { '1/other.py': source } } });
    expect(await argumentsForConfigs(repository, ['m'])).toEqual(AS_THEY_ARE);
  });

  it('may be those of an ensemble, where they are those of all that it is made of', async () => {
    const over = (...models: string[]) => ({
      config: `platform: "ensemble"\n${tensors}\nensemble_scheduling { step [ ${models.map((name) => `{ model_name: "${name}" }`).join(', ')} ] }`,
    });
    const repository = await repositoryOf({
      m: { config: whole },
      inner: over('m'),
      outer: over('inner', 'm'),
      half: over('m', 'onnx'),
      onnx: { config: whole.replace('python', 'onnxruntime') },
      circle: over('other'),
      other: over('circle'),
    });
    expect(await argumentsForConfigs(repository, ['outer'])).toEqual(AS_THEY_ARE);
    for (const model of ['half', 'circle']) expect(await argumentsForConfigs(repository, [model])).toEqual([]);
  });

  const completing = `${source}\n    @staticmethod\n    def auto_complete_config(config):\n        return config\n`;
  it.each([
    ['no config', { sources: { '1/model.py': source } }],
    ['one that cannot be read', { config: 'backend: ' }],
    ['one with a field that nobody knows', { config: `${whole}\nnew_field: 1` }],
    ['one without inputs', { config: 'backend: "python"' }],
    ['another backend, which adds dynamic batching', { config: whole.replace('python', 'onnxruntime') }],
    ['an ensemble', { config: `platform: "ensemble"\n${tensors}` }],
    ['a model that completes it', { config: whole, sources: { '1/model.py': completing } }],
    ['one version that completes it', { config: whole, sources: { '1/model.py': source, '2/model.py': completing } }],
    [
      'a model that inherits who knows what',
      { config: whole, sources: { '1/model.py': source.replace(':', '(Base):') } },
    ],
    ['no version', { config: whole, sources: {} }],
    ['another file', { config: whole, sources: { '1/other.py': source } }],
  ])('are not those of a model with %s', async (_, model) => {
    const repository = await repositoryOf({ m: model, whole: { config: whole } });
    expect(await argumentsForConfigs(repository, ['m'])).toEqual([]);
    expect(await argumentsForConfigs(repository, ['whole', 'm'])).toEqual([]);
  });

  it('are not known of where no model is named, or it is not there', async () => {
    const repository = await repositoryOf({});
    expect(await argumentsForConfigs(repository, [])).toEqual([]);
    expect(await argumentsForConfigs(repository, ['m'])).toEqual([]);
    expect(await argumentsForConfigs(join(repository, 'nowhere'), ['m'])).toEqual([]);
  });
});
