import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

/** The compose file of a fleet on one host. */
const composeFile = resolve(import.meta.dirname, '../../deploy/compose.yaml');

/** A service, as far as a process in its place needs it. */
export interface ComposeService {
  readonly command: readonly string[];
  readonly profiles?: readonly string[];
  readonly hostname?: string;
  readonly secrets?: readonly string[];
  readonly volumes?: readonly string[];
  readonly networks?: { readonly default?: { readonly aliases?: readonly string[] } };
  readonly healthcheck?: { readonly test: readonly string[] };
  readonly [key: string]: unknown;
}

export interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
  readonly volumes: Readonly<Record<string, unknown>>;
  readonly secrets: Readonly<Record<string, { readonly file: string }>>;
}

export const readCompose = async (): Promise<ComposeFile> =>
  parse(await readFile(composeFile, 'utf8'), { merge: true }) as ComposeFile;

/**
 * What stands in place of the containers' network and disks: a port of this machine for each
 * address, a folder for each volume.
 */
export interface InPlace {
  /** By HOST:PORT of the file's network, HOST:PORT of this machine. */
  readonly addresses: ReadonlyMap<string, string>;
  readonly folder: string;
  readonly variables: Readonly<Record<string, string>>;
  /** By the names of the file. */
  readonly secrets: Readonly<Record<string, string>>;
}

/**
 * Returns the words of a command with their variables, or what stands there for those that are not
 * set.
 */
export const withVariables = (
  words: readonly string[],
  variables: Readonly<Record<string, string>>,
): readonly string[] =>
  words.map((word) =>
    word.replace(/\$\{(\w+):-([^}]*)\}/g, (_, name: string, otherwise: string) => variables[name] ?? otherwise),
  );

/** Returns the service's command as a process of this machine runs it. */
export async function commandInPlace(
  { command, volumes = [] }: ComposeService,
  { addresses, folder, variables, secrets }: InPlace,
): Promise<readonly string[]> {
  const disks = volumes.map((volume) => volume.split(':') as [string, string]);
  for (const [name] of disks) await mkdir(join(folder, name), { recursive: true });
  for (const [name, value] of Object.entries(secrets)) await writeFile(join(folder, name), value);
  return withVariables(command, variables).map((word) => {
    let text = word.replace(/\/run\/secrets\/([\w-]+)/g, (_, name: string) => join(folder, name));
    for (const [name, place] of disks)
      text = text.replace(new RegExp(`(^|=)${place}(?=/|$)`), (_, before: string) => before + join(folder, name));
    for (const [there, here] of addresses) text = text.replaceAll(there, here);
    return text;
  });
}
