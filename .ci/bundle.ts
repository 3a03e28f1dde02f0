import { readdirSync, readFileSync } from 'node:fs';
import { chmod, cp, writeFile } from 'node:fs/promises';
import { join, resolve, sep } from 'node:path';
import { type InputOptions, type OutputChunk, type OutputOptions, type Plugin, rolldown } from 'rolldown';

/** A package of which the bundle contains code, with the texts that its licence wants kept. */
export interface BundledPackage {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly texts: readonly string[];
}

const NODE_MODULES = `${sep}node_modules${sep}`;
const root = resolve(import.meta.dirname, '..');
const { dependencies, peerDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Readonly<
  Record<'dependencies' | 'peerDependencies', Readonly<Record<string, string>>>
>;

/** The modules that are started, or imported, by their file, below `src`. */
const programs = ['cli/main', 'cli/perf-analyzer-main', 'cli/hey-main', 'launch/supervise'];
const threads = ['base/alarm-thread', 'loadgen/client/null-server-thread', 'loadgen/workers/client-thread'];
const libraries = ['library/index', 'testing/index'];
/**
 * Temporal bundles these once more for its sandbox, so they share no chunk with code that needs
 * Node.
 */
const plugins = ['fleet/workflow/workflows', 'fleet/temporal/failure-converter'];

/** The packages that an installation has, or may have, itself; all others go into the bundle. */
const installed = Object.keys({ ...dependencies, ...peerDependencies });
/**
 * Optional packages of packages, for faster code or for developers: without them, they do the same.
 */
const absent = ['bufferutil', 'utf-8-validate', 'react-devtools-core'];
const external = [/^node:/, ...absent, ...installed.map((name) => new RegExp(`^${name}(/|$)`))];

/** React has a second build for developers, which Ink asks for, too. */
const forProduction: Plugin = {
  name: 'for-production',
  transform: (text, id) =>
    /node_modules\/(react|react-reconciler|scheduler|ink)\//.test(id)
      ? text.replaceAll('process.env.NODE_ENV', '"production"').replaceAll("process.env['DEV']", '"false"')
      : undefined,
};

const outputs: OutputOptions = {
  format: 'esm',
  chunkFileNames: 'parts/[name]-[hash].js',
  comments: { legal: true, annotation: false, jsdoc: false },
};

/**
 * Bundles the command line and the library from `src` and the packages that need nothing but their
 * code, into a folder like `dist`. A process then loads some files in place of a thousand, and an
 * installation has a tenth of the packages.
 */
export async function bundle(folder: string): Promise<readonly BundledPackage[]> {
  const modules = [
    ...(await write(folder, [...programs, ...threads, ...libraries].map(toSource))),
    ...(await write(folder, plugins.map(toSource))),
  ];
  for (const name of programs) await chmod(join(folder, `${name}.js`), 0o755);
  return writeNotices(folder, modules);
}

/** What the lab's own package has of the repository beside code. */
const labFiles = ['package.json', 'proto', 'search-spaces', 'emulator-profiles', 'lab/grids'];

/**
 * Bundles `tritune-lab` with all that it runs, into the folder of its package. Its code finds files
 * as tritune's does: beside the folder of the code.
 */
export async function bundleLab(folder: string): Promise<void> {
  const code = join(folder, 'code');
  const lab: Entry = ['tritune-lab', 'lab/tritune-lab.ts'];
  const modules = await write(code, [lab, ...['cli/main', 'launch/supervise', ...threads].map(toSource)]);
  await chmod(join(code, 'tritune-lab.js'), 0o755);
  await writeNotices(code, modules);
  for (const name of labFiles) await cp(join(root, name), join(folder, name), { recursive: true });
}

/** The name of a bundled module without its extension, and its source. */
type Entry = readonly [name: string, source: string];

const toSource = (name: string): Entry => [name, `src/${name}.ts`];

/** Writes the licences of the packages that these modules are of. Returns the packages. */
async function writeNotices(folder: string, modules: readonly string[]): Promise<readonly BundledPackage[]> {
  const packages = [...new Set(modules.flatMap((id) => folderOf(id) ?? []))].sort().map(readPackage);
  await writeFile(join(folder, 'THIRD-PARTY-NOTICES.txt'), packages.map(noticeOf).join(`\n${'-'.repeat(100)}\n\n`));
  return packages;
}

/** Returns the paths of the modules of which something was written. */
async function write(folder: string, entries: readonly Entry[]): Promise<readonly string[]> {
  const input: InputOptions = {
    input: Object.fromEntries(entries.map(([name, source]) => [name, join(root, source)])),
    platform: 'node',
    external,
    plugins: [forProduction],
    // protobufjs asks for a module by `eval`, which works.
    checks: { eval: false },
  };
  const bundle = await rolldown(input);
  const { output } = await bundle.write({ ...outputs, dir: folder });
  await bundle.close();
  const chunks = output.filter((each): each is OutputChunk => each.type === 'chunk');
  return chunks.flatMap(({ modules }) => Object.entries(modules).flatMap(([id, { code }]) => (code ? [id] : [])));
}

/** Returns the folder of the package that a module belongs to; null for one of our own. */
function folderOf(id: string): string | null {
  const at = id.lastIndexOf(NODE_MODULES);
  if (at < 0) return null;
  const [scope = '', name = ''] = id.slice(at + NODE_MODULES.length).split(sep);
  return id.slice(0, at) + NODE_MODULES + (scope.startsWith('@') ? join(scope, name) : scope);
}

/** Errors: it comes without a licence. */
function readPackage(folder: string): BundledPackage {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Omit<BundledPackage, 'texts'>;
  const { name, version, license } = manifest;
  if (!license) throw new Error(`${name} comes without a licence`);
  const files = readdirSync(folder, { withFileTypes: true }).filter(
    (entry) => entry.isFile() && /^(licen[cs]e|notice|copying)/i.test(entry.name),
  );
  return { name, version, license, texts: files.map((entry) => readFileSync(join(folder, entry.name), 'utf8').trim()) };
}

const noticeOf = ({ name, version, license, texts }: BundledPackage): string =>
  [`${name} ${version} (${license})`, ...texts, ''].join('\n\n');
