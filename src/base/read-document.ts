import { fileLimits, readTextSync } from './read-file.ts';
import { readYaml, type YamlRules } from './yaml.ts';

/** Returns the content of a short YAML or JSON file. Throws a YamlFault, or as `readBytes` does. */
export const readDocument = (path: string, rules: Partial<YamlRules> = {}): unknown =>
  readYaml(readTextSync(path, fileLimits.document), rules).value;
