import { afterRestoring } from '#app/restore-first.ts';
import { connectControl, resolveAddresses } from '#app/server/addresses.ts';
import { checkLeftovers, leftoversIn, type Served } from '#app/server/leftover.ts';
import { readTls } from '#app/server/read-tls.ts';
import { errorLine } from '#base/error-line.ts';
import { TrituneError } from '#base/errors.ts';
import { withoutServerDefaults } from '#space/edits/server-defaults.ts';
import type { ServerIdentity } from '#study/records/records.ts';
import { readConfigFile } from '#triton/config/config-file.ts';
import type { ModelConfig } from '#triton/config/model-config.ts';
import type { UnknownField } from '#triton/config/unknown.ts';
import type { TritonClient } from '#triton/types.ts';
import type { ConfigOptions } from './config-options.ts';

/** A config to start from. */
export interface ConfigStart {
  readonly config: ModelConfig;
  /** The base of the differences: empty for a new config. */
  readonly before: ModelConfig;
  /** Unknown fields, which stay as in the file. */
  readonly unknownFields: readonly UnknownField[];
  /**
   * True if the server serves it unchanged, so that violations of our rules are no fault of the
   * edits.
   */
  readonly isServed: boolean;
}

/**
 * Returns the config that the options start from. Errors: USAGE, INPUT_INVALID, CONFIG_INVALID,
 * MODEL_UNKNOWN, MODEL_UNREADY, SERVER_*.
 */
export async function readConfigStart(options: ConfigOptions, tell: (line: string) => void): Promise<ConfigStart> {
  const { from, model, backend, platform, inputs, outputs } = options;
  const isNew = backend !== undefined || platform !== undefined;
  if ((inputs ?? outputs) && !isNew)
    throw wrong('--inputs and --outputs are for a new config only', 'add --backend NAME or --platform NAME');
  if (isNew && from !== undefined)
    throw wrong('--from cannot be used with --backend or --platform', 'leave out --from');
  if (isNew) {
    const config = {
      ...(model !== undefined && { name: model }),
      ...(platform !== undefined && { platform }),
      ...(backend !== undefined && { backend }),
      ...(inputs && { input: inputs }),
      ...(outputs && { output: outputs }),
    };
    return { config, before: {}, unknownFields: [], isServed: false };
  }
  if (from !== undefined) return fromFile(from, model);
  if (model === undefined)
    throw wrong('there is no config to start from', 'add --from FILE, -m MODEL, or --backend NAME for a new one');
  // The server generates instance names and a preferred size. If written down, they would outlast
  // the fields they derive from.
  const config = await withServer(options, async (client, server) => {
    await refuseLeftovers({ client, server }, model, options, tell);
    return client.modelConfig(model);
  });
  const plain = withoutServerDefaults(config);
  return { config: plain, before: plain, unknownFields: [], isServed: true };
}

/** A config that is only shown is not refused: it is what the server has. */
async function refuseLeftovers(
  served: Served,
  model: string,
  options: ConfigOptions,
  tell: (line: string) => void,
): Promise<void> {
  if (options.load || options.restoreFirst) return afterRestoring(options, tell, () => checkLeftovers(served, [model]));
  for await (const error of leftoversIn(served, [model])) tell(`warning: ${errorLine(error)}`);
}

async function fromFile(file: string, model: string | undefined): Promise<ConfigStart> {
  const { config, unknownFields } = await readConfigFile(file);
  if (model !== undefined && config.name !== undefined && config.name !== model) {
    throw wrong(
      `${file} is the config of '${config.name}', not of '${model}'`,
      'leave out -m, or change the name in the file',
    );
  }
  return { config, before: config, unknownFields, isServed: false };
}

/**
 * Does the work over a control connection to the server in the options. Errors: SERVER_*, USAGE.
 */
export async function withServer<T>(
  options: ConfigOptions,
  work: (client: TritonClient, server: ServerIdentity) => Promise<T>,
): Promise<T> {
  const { client, server } = await connectControl(resolveAddresses(options, await readTls(options)));
  try {
    return await work(client, server);
  } finally {
    await client.close();
  }
}

const wrong = (message: string, hint: string): TrituneError => new TrituneError('USAGE', message, hint);
