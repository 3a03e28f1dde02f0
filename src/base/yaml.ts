import { type Document, isMap, isNode, isPair, isSeq, LineCounter, type Pair, parseDocument, visit } from 'yaml';
import { formatMessage } from './errors.ts';
import { nestsDeeperThan } from './json.ts';

/** Line and column from 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/**
 * Thrown for a text that is not YAML, or not plain data of a reasonable size. `message` says why,
 * with the line if there is one.
 */
export class YamlFault extends Error {
  readonly reason: string;
  readonly position: TextPosition | null;

  constructor(reason: string, position: TextPosition | null) {
    super(position === null ? reason : `line ${position.line}: ${reason}`);
    this.reason = reason;
    this.position = position;
  }
}

export interface YamlRules {
  /** YAML version of a text that does not declare one. */
  readonly version: '1.1' | '1.2';
  readonly maxBytes: number;
  /** Levels of nested lists and maps. */
  readonly maxDepth: number;
  readonly maxAliases: number;
  readonly isForbiddenKey: (key: string) => boolean;
}

/** Limits far above most YAML files. */
const usualRules: YamlRules = {
  version: '1.2',
  maxBytes: 2 ** 20,
  maxDepth: 64,
  maxAliases: 100,
  isForbiddenKey: (key) => key === '__proto__',
};

export interface YamlText {
  readonly value: unknown;
  readonly document: Document;
  positionAt(offset: number): TextPosition;
  /**
   * Returns the start of the key or item at the path, or of the nearest one above it if the path
   * leads nowhere.
   */
  toPosition(path: readonly PropertyKey[]): TextPosition | null;
}

/** YAML's own tags, which only repeat how a text would be read anyway. */
const plainTags: ReadonlySet<string> = new Set(
  ['str', 'int', 'float', 'bool', 'null', 'map', 'seq'].map((name) => `tag:yaml.org,2002:${name}`),
);

/**
 * Reads a foreign YAML text. Throws a YamlFault for text that is not YAML, for tags other than
 * those of plain data, for forbidden keys, and for text that is too long or too deep or has too
 * many aliases: a few lines of aliases can expand beyond any memory.
 */
export function readYaml(text: string, rules: Partial<YamlRules> = {}): YamlText {
  const { version, maxBytes, maxDepth, maxAliases, isForbiddenKey } = { ...usualRules, ...rules };
  if (Buffer.byteLength(text) > maxBytes) throw new YamlFault(`the file is larger than ${maxBytes} bytes`, null);
  const lineCounter = new LineCounter();
  const positionAt = (offset: number): TextPosition => {
    const { line, col: column } = lineCounter.linePos(offset);
    return { line, column };
  };
  const document = attempt(() =>
    // The library's search for duplicate keys takes time that grows with the square of their
    // number.
    parseDocument(text, { ...common, version, lineCounter }),
  );
  const fault = document.errors[0] ?? document.warnings[0];
  if (fault) throw new YamlFault(formatWords(fault.message), positionAt(fault.pos[0]));
  const refuse: Refuse = (node, reason) => {
    const start = isNode(node) ? node.range?.[0] : undefined;
    throw new YamlFault(reason, start === undefined ? null : positionAt(start));
  };
  refuseUnsafe(document, { maxDepth, maxAliases, isForbiddenKey }, refuse);
  const value: unknown = attempt(() => document.toJS({ maxAliasCount: maxAliases }));
  // Through aliases a value may be deeper than its text, and may contain itself.
  if (nestsDeeperThan(maxDepth, value)) throw new YamlFault(`nested deeper than ${maxDepth} levels`, null);
  const toPosition = (path: readonly PropertyKey[]): TextPosition | null => {
    const start = findStart(document, path);
    return start === undefined ? null : positionAt(start);
  };
  return { value, document, positionAt, toPosition };
}

const toKey = (pair: Pair): string => String(isNode(pair.key) ? pair.key.toJSON() : pair.key);

function findStart({ contents }: Document, path: readonly PropertyKey[]): number | undefined {
  let node: unknown = contents;
  let start = isNode(node) ? node.range?.[0] : undefined;
  for (const segment of path) {
    let value: unknown;
    if (isMap(node)) {
      const pair = node.items.find((item) => isPair(item) && toKey(item) === String(segment));
      start = isNode(pair?.key) ? pair.key.range?.[0] : start;
      value = pair?.value;
    } else if (isSeq(node) && typeof segment === 'number') {
      value = node.items[segment];
      start = isNode(value) ? value.range?.[0] : start;
    }
    if (!isNode(value)) break;
    node = value;
  }
  return start;
}

const common = { prettyErrors: false, logLevel: 'error', stringKeys: true, uniqueKeys: false } as const;

const formatWords = (message: string): string =>
  (message.split('\n')[0] as string).replace(/ at line \d+, column \d+:?$/, '');

type Refuse = (node: unknown, reason: string) => never;
type Unsafe = Pick<YamlRules, 'maxDepth' | 'maxAliases' | 'isForbiddenKey'>;

function refuseUnsafe(document: Document, { maxDepth, maxAliases, isForbiddenKey }: Unsafe, refuse: Refuse): void {
  let aliases = 0;
  const checkTag = (node: { readonly tag?: string | undefined }): void => {
    if (node.tag !== undefined && !plainTags.has(node.tag)) refuse(node, `the tag ${node.tag} is not read`);
  };
  visit(document, {
    Alias: (_, node) => {
      if (++aliases > maxAliases) refuse(node, `more than ${maxAliases} aliases`);
    },
    Scalar: (_, node) => checkTag(node),
    Collection: (_, node, parents) => {
      checkTag(node);
      if (parents.filter((parent) => !isPair(parent)).length > maxDepth) {
        refuse(node, `nested deeper than ${maxDepth} levels`);
      }
      if (isMap(node)) checkKeys(node.items.map(({ key }) => key));
    },
  });

  function checkKeys(keys: readonly unknown[]): void {
    const seen = new Set<string>();
    for (const key of keys) {
      const name = String(isNode(key) ? key.toJSON() : key);
      if (isForbiddenKey(name)) refuse(key, `'${name}' is not a name that may be used here`);
      if (seen.has(name)) refuse(key, 'Map keys must be unique');
      seen.add(name);
    }
  }
}

/** The library recurses once per level. */
function attempt<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new YamlFault(
      error instanceof RangeError ? 'nested too deeply to read' : formatWords(formatMessage(error)),
      null,
    );
  }
}
