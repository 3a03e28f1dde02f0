import { symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { rolldown } from 'rolldown';
import { BUNDLED_CLI } from './cli-program.ts';

const root = resolve(import.meta.dirname, '../..');
const programs = ['main', 'perf-analyzer-main'] as const;

/** Packages with files of their own beside their code. */
const external = [/^node:/, 'koffi', '@resvg/resvg-js', '@grpc/grpc-js', 'ink', 'react', /^@temporalio\//];

/**
 * Bundles the command line once for all tests that start it: a process then loads some files in place of a thousand modules, which takes a
 * third of the CPU. What the program looks for beside its source, such as the code of a thread, it finds there.
 */
export async function setup(): Promise<void> {
  // Goes with the folder for temporary files (`own-folder.ts`).
  const folder = join(tmpdir(), 'cli');
  const bundle = await rolldown({
    input: Object.fromEntries(programs.map((name) => [name, join(root, 'src/cli', `${name}.ts`)])),
    ...{ platform: 'node', external, treeshake: false },
    plugins: [{ name: 'source-places', transform: (code, id) => (id.startsWith(root) ? withPlaces(code, id) : null) }],
    // A package asks for a module by `eval`, which works.
    logLevel: 'silent',
  });
  await bundle.write({ dir: folder, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' });
  await bundle.close();
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  process.env[BUNDLED_CLI] = folder;
}

/** Returns the code with the places of its source where it asks for its own. */
function withPlaces(code: string, file: string): string {
  const places = { url: pathToFileURL(file).href, dirname: dirname(file), filename: file };
  return code.replace(/import\.meta\.(url|dirname|filename)\b/g, (_, name: keyof typeof places) =>
    JSON.stringify(places[name]),
  );
}
