import { mkdir, readFile, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { BUNDLED_CLI } from './cli-program.ts';

const root = resolve(import.meta.dirname, '../..');
const source = join(root, 'src');

/** What is started by its file: programs, threads, and what watches over a server. */
const started = [
  ...['cli/main', 'cli/perf-analyzer-main', 'launch/supervise'],
  ...['base/alarm-thread', 'loadgen/client/null-server-thread', 'loadgen/workers/client-thread'],
  'fleet/temporal/failure-converter',
];
/** Packages with files of their own beside their code. */
const external = [/^node:/, 'koffi', '@resvg/resvg-js', '@grpc/grpc-js', 'ink', 'react', /^@temporalio\//];

/**
 * Bundles the command line once for all tests that start it, in a folder like that of the package: a process then loads some files in place of
 * a thousand modules, which takes a third of the CPU.
 */
export async function setup(): Promise<void> {
  // Another project of the same run has done it.
  if (process.env[BUNDLED_CLI]) return;
  // Goes with the folder for temporary files (`own-folder.ts`).
  const folder = join(tmpdir(), 'tritune');
  const code = join(folder, 'dist');
  const bundle = await rolldown({
    input: Object.fromEntries(started.map((name) => [name, join(source, `${name}.ts`)])),
    ...{ platform: 'node', external, treeshake: false },
    plugins: [
      {
        name: 'places-in-the-package',
        transform: (text, id) =>
          id.startsWith(source)
            ? withPlaces(text, join(code, relative(source, id)).replace(/\.tsx?$/, '.js'))
            : undefined,
      },
    ],
    // A package asks for a module by `eval`, which works.
    logLevel: 'silent',
  });
  await bundle.write({ dir: code, format: 'esm', chunkFileNames: 'parts/[name]-[hash].js' });
  await bundle.close();
  const { files } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { files: readonly string[] };
  for (const each of ['package.json', 'node_modules', ...files.filter((name) => name !== 'dist')]) {
    await mkdir(dirname(join(folder, each)), { recursive: true });
    await symlink(join(root, each), join(folder, each));
  }
  process.env[BUNDLED_CLI] = code;
}

/** Returns the code with the places of its file in the package where it asks for its own. */
function withPlaces(text: string, file: string): string {
  const places = { url: pathToFileURL(file).href, dirname: dirname(file), filename: file };
  return text.replace(/import\.meta\.(url|dirname|filename)\b/g, (_, name: keyof typeof places) =>
    JSON.stringify(places[name]),
  );
}
