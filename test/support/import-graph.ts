import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

/** One import of a file, by `import`, `export … from` or `import()`. */
export interface Import {
  /** As it is written: './run.ts', 'zod'. */
  readonly target: string;
  /** Nothing of it is left when the types are gone. */
  readonly isTypeOnly: boolean;
}

const SRC = resolve(import.meta.dirname, '../../src');

/** Returns the path of what a file imports; null for a package: `#stats/mean.ts` is of `src`. */
export function resolveImport(file: string, target: string): string | null {
  if (target.startsWith('#')) return join(SRC, target.slice(1));
  return target.startsWith('.') ? resolve(dirname(file), target) : null;
}

/** Returns the paths of all TypeScript files below a directory. */
export function sourcesIn(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (entry.isDirectory()) return sourcesIn(path);
    return /\.tsx?$/.test(entry.name) ? [path] : [];
  });
}

/** Returns what the file imports, in its order. */
export function importsOf(file: string): Import[] {
  return importsIn(readFileSync(file, 'utf8'));
}

const STATIC = /^(?:import|export)\s+(?:(type\s)?\s*(?:(\{[^}]*\})|[^'{}]*?(\{[^}]*\})?)\s*from\s*)?'([^']+)'/gm;
const DYNAMIC = /\bimport\s*\(\s*'([^']+)'/g;

export function importsIn(text: string): Import[] {
  const plain = [...text.matchAll(STATIC)].map(([, type, names, , target]) => ({
    target: target as string,
    isTypeOnly: type !== undefined || (names !== undefined && areTypes(names)),
  }));
  return [
    ...plain,
    ...[...text.matchAll(DYNAMIC)].map(([, target]) => ({ target: target as string, isTypeOnly: false })),
  ];
}

const areTypes = (names: string): boolean => {
  const each = names
    .slice(1, -1)
    .split(',')
    .map((name) => name.trim());
  return each.filter((name) => name !== '').every((name) => name.startsWith('type '));
};

/**
 * Returns the files of `root`, relative to it, each with those it imports; imports of types and
 * dynamic ones count.
 */
export function importGraph(root: string): Map<string, readonly string[]> {
  const targets = (file: string): string[] =>
    importsOf(file).flatMap(({ target }) => {
      const path = resolveImport(file, target);
      return path === null ? [] : [relative(root, path)];
    });
  return new Map(sourcesIn(root).map((file) => [relative(root, file), targets(file)]));
}

/**
 * Returns the circles of a graph: its strongly connected components with more than one node, and
 * nodes that lead to themselves. Tarjan (1972), "Depth-first search and linear graph algorithms".
 */
export function circlesIn(graph: ReadonlyMap<string, readonly string[]>): string[][] {
  const indices = new Map<string, number>();
  const stack: string[] = [];
  const circles: string[][] = [];
  /** Gives the lowest index of a node still on the stack that this one leads to. */
  const visit = (node: string): number => {
    const index = indices.size;
    indices.set(node, index);
    stack.push(node);
    let lowest = index;
    for (const next of graph.get(node) ?? []) {
      if (!indices.has(next)) lowest = Math.min(lowest, visit(next));
      else if (stack.includes(next)) lowest = Math.min(lowest, indices.get(next) as number);
    }
    if (lowest === index) {
      const component = stack.splice(stack.indexOf(node));
      if (component.length > 1 || graph.get(node)?.includes(node)) circles.push(component.sort());
    }
    return lowest;
  };
  for (const node of graph.keys()) if (!indices.has(node)) visit(node);
  return circles;
}
