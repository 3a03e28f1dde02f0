import { formatMessage, TrituneError } from '#base/errors.ts';
import { fileLimits, readText } from '#base/read-file.ts';
import { type ParsedConfig, parseConfigText } from './parser.ts';

/** Reads a config.pbtxt. Errors: INPUT_INVALID for a file that cannot be read, CONFIG_INVALID. */
export async function readConfigFile(path: string): Promise<ParsedConfig> {
  const text = await readText(path, fileLimits.modelConfig).catch((error: unknown) => {
    throw new TrituneError(
      'INPUT_INVALID',
      `cannot read ${path}: ${formatMessage(error)}`,
      "give a model's config.pbtxt",
    );
  });
  return parseConfigText(text, path);
}
