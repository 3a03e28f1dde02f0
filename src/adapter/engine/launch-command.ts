import { basename } from 'node:path';
import { formatMessage, TrituneError } from '#base/errors.ts';
import { canonicalJson, isJsonObject, type Json, type JsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { readDocument } from '#base/read-document.ts';
import { isSecretName } from '#base/secrets.ts';
import type { EngineSettings } from '#space/engine.ts';
import type { EngineTraits } from '#space/types.ts';
import { commandWords } from './command-words.ts';

/** A command that starts a server, with placeholders for what changes between starts. */
export interface LaunchCommand {
  readonly words: readonly string[];
  /** The settings before the study: those in its flags and its options file, and those stated. */
  readonly originalSettings: EngineSettings;
}

/** `{workers}`: the value of a setting. */
const PLACE = /\{([A-Za-z_]\w*)\}/g;
const RESERVED: ReadonlySet<string> = new Set(['port', 'flags', 'config']);

/** `{config}`, or `{config:FILE}` to keep the options of a file. */
const CONFIG = /\{config(?::([^}]*))?\}/;
const FLAG = /^--(?<name>[A-Za-z][\w.-]*)(?:=(?<value>.*))?$/s;

const HINT = "such as --launch-command 'vllm serve MODEL --port {port} {flags}'";

/**
 * Reads a launch command: `{port}` stands for the port, `{NAME}` for the value of a setting,
 * `{flags}` for the other tuned settings (at the end if it is missing), `{config}` for the path of
 * an options file. Errors: USAGE without `{port}`, for a setting whose value before the study is
 * unknown, or for an unreadable options file.
 */
export function readLaunchCommand(text: string, original: JsonObject = {}): LaunchCommand {
  const statedWords = commandWords(text);
  if (!statedWords.some((word) => word.includes('{port}')))
    throw new TrituneError('USAGE', 'the launch command has no place for the port', `write {port}, ${HINT}`);
  const words = statedWords.includes('{flags}') ? statedWords : [...statedWords, '{flags}'];
  const file = words.map((word) => CONFIG.exec(word)?.[1]).find((each) => each !== undefined);
  const engine = { ...ownFlags(words), ...original };
  const unknown = placesIn(words).find((name) => !Object.hasOwn(engine, name));
  if (unknown !== undefined)
    throw new TrituneError(
      'USAGE',
      `the launch command has {${unknown}}, whose value before the study is not known`,
      `add --original ${unknown}=VALUE`,
    );
  return { words, originalSettings: { engine, ...(file !== undefined && { config_file: readOptions(file) }) } };
}

/** Returns the settings that have a place of their own in the command. */
const placesIn = (words: readonly string[]): readonly string[] =>
  words.flatMap((word) => [...word.matchAll(PLACE)].flatMap(([, name = '']) => (RESERVED.has(name) ? [] : [name])));

/**
 * Returns the profile of tritune's own emulator, if the command starts that; null for any other
 * server.
 */
export function emulatedProfileIn({ words, originalSettings: settings }: LaunchCommand): string | null {
  const program = words[words.indexOf('emulate') - 1];
  if (program === undefined || !/^(?:tritune|main\.[jt]s)$/.test(basename(program))) return null;
  const short = words.indexOf('-p');
  const profile = settings.engine?.profile ?? (short < 0 ? undefined : words[short + 1]);
  return typeof profile === 'string' ? profile : '';
}

/** Returns the settings of flags, by their names with `_`. The last of repeated flags counts. */
function ownFlags(words: readonly string[]): JsonObject {
  const settings: { [name: string]: Json } = {};
  for (const [index, word] of words.entries()) {
    const flag = flagIn(word);
    // A secret is no setting: it stays in the command, and in no config.
    if (flag === null || isSecretName(flag.name)) continue;
    const next = words[index + 1];
    const text = flag.value ?? (next === undefined || /^-|^\{flags\}$/.test(next) ? undefined : next);
    if (text?.includes('{')) continue;
    if (text === undefined && flag.name.startsWith('no_')) settings[flag.name.slice(3)] = false;
    else settings[flag.name] = text === undefined ? true : settingValue(text);
  }
  return settings;
}

function flagIn(word: string): { readonly name: string; readonly value: string | undefined } | null {
  const { name, value } = FLAG.exec(word)?.groups ?? {};
  return name === undefined ? null : { name: name.replaceAll('-', '_'), value };
}

/** Converts numbers, so that rules can compare them. */
const settingValue = (text: string): Json => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);

function readOptions(file: string): JsonObject {
  const fail = (reason: string, cause?: unknown): never => {
    throw new TrituneError('USAGE', `${file}: ${reason}`, 'give a YAML or JSON file with options of the engine', {
      cause,
    });
  };
  try {
    const value: unknown = readDocument(file) ?? {};
    return isJsonObject(value as Json) ? (value as JsonObject) : fail('it holds no options');
  } catch (error) {
    if (error instanceof TrituneError) throw error;
    return fail(formatMessage(error), error);
  }
}

/** One start: its words, and the options file that they name. */
export interface EngineStart {
  readonly words: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  /** The text of the options file; null if the command names none. */
  readonly config: string | null;
}

/**
 * Returns how to start the server with these settings: replaces the command's own flags whose
 * settings differ, and keeps the others. Errors: USAGE for settings of a file that the command does
 * not name.
 */
export function toStart(
  { words, originalSettings: settings }: LaunchCommand,
  { engine = {}, config_file: options = {}, environment = {} }: EngineSettings,
  traits: EngineTraits,
  { port, configFile }: { readonly port: string; readonly configFile: string },
): EngineStart {
  const changed = Object.entries(engine).filter(([name, value]) => !isEqual(value, lookUp(settings.engine, name)));
  const placed = new Set(placesIn(words));
  const flags = changed.filter(([name]) => !placed.has(name));
  const names = new Map(flags);
  const namesFile = words.some((word) => CONFIG.test(word));
  if (!namesFile && Object.keys(options).length > 0) {
    const hint = `write {config} after the flag that names it: ${traits.name} … {config}`;
    throw new TrituneError(
      'USAGE',
      'the search space sets options in a file, but the launch command names no file',
      hint,
    );
  }
  const settingText = (name: string): string =>
    formatText((lookUp(engine, name) ?? lookUp(settings.engine, name)) as Json);
  const started = words.flatMap((word, index): readonly string[] => {
    if (word === '{flags}') return flags.flatMap(([name, value]) => flagWords(name, value as Json, traits));
    if (isReplaced(words, index, names)) return [];
    const filled = word.replace(PLACE, (whole, name: string) => (placed.has(name) ? settingText(name) : whole));
    return [filled.replaceAll('{port}', port).replace(CONFIG, configFile)];
  });
  return {
    words: started,
    environment: Object.fromEntries(
      Object.entries(environment).map(([name, value]) => [name, formatText(value as Json)]),
    ),
    config: namesFile ? `${JSON.stringify(options, null, 2)}\n` : null,
  };
}

/** True if the word is a flag of a replaced setting, or the value of one. */
function isReplaced(words: readonly string[], index: number, changed: ReadonlyMap<string, unknown>): boolean {
  const parseSetting = (word: string | undefined): string | null => {
    const name = word === undefined ? undefined : flagIn(word)?.name;
    if (name === undefined) return null;
    if (changed.has(name)) return name;
    return changed.has(name.replace(/^no_/, '')) ? name.replace(/^no_/, '') : null;
  };
  const word = words[index] as string;
  if (parseSetting(word) !== null) return true;
  const before = words[index - 1];
  const name = parseSetting(before);
  const hasOwnValue = before?.includes('=') || typeof changed.get(name ?? '') === 'boolean';
  return name !== null && !hasOwnValue && !word.startsWith('-') && word !== '{flags}';
}

function flagWords(name: string, value: Json, { words, off }: EngineTraits): readonly string[] {
  const spelled = words === 'hyphens' ? name.replaceAll('_', '-') : name;
  if (value === true) return [`--${spelled}`];
  if (value === false) return off === 'no' ? [`--no-${spelled}`] : [];
  return [`--${spelled}`, formatText(value)];
}

const formatText = (value: Json): string => (typeof value === 'string' ? value : canonicalJson(value));

const isEqual = (a: Json | undefined, b: Json | undefined): boolean =>
  canonicalJson(a ?? null) === canonicalJson(b ?? null);
