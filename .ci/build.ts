import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, rmdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { bundle, bundleLab } from './bundle.ts';

/**
 * Makes `dist`: the bundled code, and the types that the exports of the package lead to; and
 * `lab/dist`, the package of the lab: node .ci/build.ts.
 *
 * --if-older   only if a source is younger than `dist`. The first `npx tritune` in a clone runs
 *              npm's `prepare` once more, in silence.
 */
const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');
const exported = ['library/index.d.ts', 'testing/index.d.ts'];

const IMPORTED = /((?:from|import\()\s*['"])([.#][^'"]+)\.ts(?=['"])/g;

/**
 * Returns the files of types that a program sees which imports one of these. In each, imports lead
 * to files beside it: a program has no `#room`, which is of the sources.
 */
function reachable(files: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    const targets: string[] = [];
    const text = readFileSync(file, 'utf8').replace(IMPORTED, (_, start: string, path: string) => {
      const target = path.startsWith('#') ? join(dist, path.slice(1)) : resolve(dirname(file), path);
      targets.push(`${target}.d.ts`);
      const beside = relative(dirname(file), target);
      return `${start}${beside.startsWith('.') ? beside : `./${beside}`}.js`;
    });
    writeFileSync(file, text);
    targets.forEach(visit);
  };
  for (const file of files) visit(file);
  return seen;
}

/** Returns the time of the latest change below these paths; 0 without any. */
const latestChangeMs = (...paths: readonly string[]): number =>
  Math.max(
    0,
    ...paths.flatMap((path) => {
      const found = statSync(path, { throwIfNoEntry: false });
      if (!found) return [];
      const below = found.isDirectory() ? readdirSync(path, { recursive: true, encoding: 'utf8' }) : [];
      return [found.mtimeMs, ...below.map((name) => statSync(join(path, name)).mtimeMs)];
    }),
  );

const ofLab = readdirSync(join(root, 'lab')).filter((name) => name !== 'dist');
const sources = [
  'src',
  ...ofLab.map((name) => join('lab', name)),
  '.ci',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  'tsconfig.build.json',
];
// The bundler writes these last.
const builtMs = latestChangeMs(join(dist, 'THIRD-PARTY-NOTICES.txt'));
if (process.argv.includes('--if-older') && latestChangeMs(...sources.map((name) => join(root, name))) < builtMs)
  process.exit();

rmSync(dist, { recursive: true, force: true });
execFileSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tsconfig.build.json'], {
  cwd: root,
  stdio: 'inherit',
});
const typed = reachable(exported.map((name) => join(dist, name)));
for (const name of readdirSync(dist, { recursive: true, encoding: 'utf8' }).sort().reverse()) {
  const path = join(dist, name);
  if (path.endsWith('.d.ts') && !typed.has(path)) rmSync(path);
  else if (!path.endsWith('.ts') && readdirSync(path).length === 0) rmdirSync(path);
}
await bundle(dist);
const lab = join(root, 'lab/dist');
rmSync(lab, { recursive: true, force: true });
await bundleLab(lab);
