import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmdirSync, rmSync, symlinkSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { bundle } from './bundle.ts';

/** Makes `dist`: the bundled code, and the types that the exports of the package lead to: node .ci/build.ts. */
const root = resolve(import.meta.dirname, '..');
const dist = join(root, 'dist');
const exported = ['library/index.d.ts', 'testing/index.d.ts'];

/** Returns the files of types that a program sees which imports one of these. */
function reachable(files: readonly string[]): ReadonlySet<string> {
  const seen = new Set<string>();
  const visit = (file: string): void => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, path = ''] of readFileSync(file, 'utf8').matchAll(/(?:from|import\()\s*['"](\.[^'"]+)['"]/g))
      visit(resolve(dirname(file), path.replace(/\.[jt]s$/, '.d.ts')));
  };
  for (const file of files) visit(file);
  return seen;
}

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

// For `npx tritune` in the clone. Without these links npm packs and builds the clone once more for it, half a minute in silence.
const { bin } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  bin: Readonly<Record<string, string>>;
};
const links = join(root, 'node_modules/.bin');
if (existsSync(links))
  for (const [name, file] of Object.entries(bin)) {
    rmSync(join(links, name), { force: true });
    symlinkSync(relative(links, join(root, file)), join(links, name));
  }
