import { copyFile, cp, mkdir, open, readdir, readFile, realpath, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import type { TritonInstall } from '#launch/triton-install.ts';
import { bundle, bundleLab } from '../../.ci/bundle.ts';
import { run } from './processes.ts';

/** The Python in the archive. */
export interface CarriedPython {
  readonly executable: string;
  /** Such as 3.12. */
  readonly version: string;
}

/** Parts of the standard library that no model imports. */
const NOT_OF_PYTHON =
  /^(test|tests|idlelib|tkinter|turtledemo|ensurepip|lib2to3|pydoc_data|config-.*|site-packages|__pycache__)$/;
const NOT_OF_NUMPY = /^(tests|__pycache__|f2py|doc|testing|include)$|\.(pyi|a)$/;
const NOT_OF_PACKAGES = /\.(d\.[cm]?ts|map|md|ts|flow)$|^(test|tests|docs|\.github)$/;
/** Builds of ECharts for browsers; the report uses its modules. */
const NOT_OF_CHARTS = /node_modules\/(echarts|zrender)\/(dist|build|src|asset|i18n|theme|ssr|types|extension)(\/|$)/;

/**
 * The interpreter, its shared library, its headers (torch.compile builds with them) and the
 * standard library.
 */
export async function packPython(asked: string, to: string): Promise<CarriedPython> {
  const program = `import json, sys, sysconfig
print(json.dumps(["%d.%d" % sys.version_info[:2], sys.base_prefix, sysconfig.get_config_var("LIBDIR"), sysconfig.get_config_var("INSTSONAME")]))`;
  const [version, prefix, libraries, library] = JSON.parse(await run(asked, ['-c', program])) as [
    string,
    string,
    string,
    string,
  ];
  if (!library.includes('.so')) throw new Error(`${asked} has no shared library, which Triton's Python backend needs`);
  const executable = await realpath(join(prefix, 'bin', `python${version}`));
  const modules = join('lib', `python${version}`);
  const headers = join('include', `python${version}`);
  await mkdir(join(to, 'bin'), { recursive: true });
  await copyFile(executable, join(to, 'bin', `python${version}`));
  await copyWithout(join(prefix, modules), join(to, modules), NOT_OF_PYTHON);
  await copyWithout(join(prefix, headers), join(to, headers), /^$/);
  await copyFile(join(libraries, library), join(to, 'lib', library));
  await strip(to);
  return { executable, version };
}

/**
 * The server, its Python backend with the stub of that Python, and the libraries that they name,
 * laid out as in the wheel, since they find each other by relative paths.
 */
export async function packTriton(install: TritonInstall, python: string, to: string): Promise<void> {
  const server = dirname(dirname(install.binary));
  const site = dirname(dirname(server));
  const place = (file: string): string => join(to, relative(site, file));
  const backend = join(install.backendDirectory, 'python');
  const stub = join(server, 'python_backend_stubs', python, 'triton_python_backend_stub');
  await stat(stub).catch(() => {
    throw new Error(`Triton's wheel has no stub for Python ${python}; it has them for 3.8 to 3.13`);
  });
  const programs = [install.binary, join(backend, 'libtriton_python.so')];
  const copies = [
    ...programs.map((file) => [file, place(file)] as const),
    [stub, place(join(backend, basename(stub)))] as const,
    [join(backend, 'triton_python_backend_utils.py'), place(join(backend, 'triton_python_backend_utils.py'))] as const,
    ...(await librariesOf([...programs, stub], join(site, 'nvidia_pytriton.libs'))).map(
      (file) => [file, place(file)] as const,
    ),
  ];
  for (const [from, target] of copies) {
    await mkdir(dirname(target), { recursive: true });
    await copyFile(from, target);
  }
  await strip(to);
  for (const [, target] of copies) if (basename(target).startsWith('libicudata')) await blank(target);
}

/** Returns the libraries next to the wheel that the files need, including indirect ones. */
async function librariesOf(files: readonly string[], directory: string): Promise<string[]> {
  const there = new Set(await readdir(directory));
  const found = new Set<string>();
  const open = [...files];
  for (let file = open.pop(); file !== undefined; file = open.pop()) {
    const needed = [...(await run('readelf', ['--dynamic', file])).matchAll(/\(NEEDED\).*\[(.+)\]/g)].map(
      ([, name]) => name as string,
    );
    for (const name of needed.filter((each) => there.has(each))) {
      const path = join(directory, name);
      if (!found.has(path)) open.push(path);
      found.add(path);
    }
  }
  return [...found];
}

/**
 * ICU's tables of the world's languages, 28 MiB, come in by libarchive, which reads environments in
 * archives; there is none here. With nothing in it the library loads as before and hardly counts in
 * the archive.
 */
async function blank(library: string): Promise<void> {
  const section = /\.rodata\s+PROGBITS\s+[0-9a-f]+\s+([0-9a-f]+)\s+([0-9a-f]+)/.exec(
    await run('readelf', ['--sections', '--wide', library]),
  );
  if (!section) throw new Error(`${library} has no .rodata`);
  const [offset, size] = [section[1], section[2]].map((hex) => Number.parseInt(hex as string, 16)) as [number, number];
  const file = await open(library, 'r+');
  await file.write(new Uint8Array(size), 0, size, offset);
  await file.close();
}

/**
 * numpy 1: the stub of this Triton cannot read numpy 2's arrays. From Triton's own packages, or
 * from PyPI for another Python.
 */
export async function packNumpy(
  install: TritonInstall,
  { executable, version }: CarriedPython,
  to: string,
): Promise<void> {
  const own = join(dirname(install.binDirectory), 'lib', `python${version}`, 'site-packages');
  const isThere = await stat(join(own, 'numpy')).then(
    () => true,
    () => false,
  );
  if (isThere) {
    for (const name of ['numpy', 'numpy.libs']) await copyWithout(join(own, name), join(to, name), NOT_OF_NUMPY);
  } else {
    const pip = ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--no-deps', '--only-binary=:all:'];
    await run(executable, [...pip, '--target', `${to}.whole`, 'numpy<2']);
    for (const name of ['numpy', 'numpy.libs'])
      await copyWithout(join(`${to}.whole`, name), join(to, name), NOT_OF_NUMPY);
    await rm(`${to}.whole`, { recursive: true });
  }
  await strip(to);
}

export async function packNode(executable: string, to: string): Promise<void> {
  await mkdir(join(to, 'bin'), { recursive: true });
  await copyFile(executable, join(to, 'bin/node'));
  await strip(to);
}

/** What `npm pack` would publish, built now, with the packages that it needs. */
export async function packTritune(root: string, to: string): Promise<void> {
  const { files } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { files: readonly string[] };
  await mkdir(to, { recursive: true });
  for (const file of ['package.json', ...files.filter((each) => each !== 'dist')]) {
    await cp(join(root, file), join(to, file), { recursive: true });
  }
  await bundle(join(to, 'dist'));
  await bundleLab(join(to, 'lab'));
  for (const directory of await packagesOf(root)) {
    if (directory.endsWith('-musl')) continue;
    await copyWithout(directory, join(to, relative(root, directory)), NOT_OF_PACKAGES);
  }
}

/** Returns the directories of the packages that a user of tritune gets. */
async function packagesOf(root: string): Promise<string[]> {
  const listed = await run('npm', ['ls', '--prefix', root, '--omit=dev', '--all', '--parseable', '--workspaces=false']);
  return listed.split('\n').filter((line) => line.includes('/node_modules/') && !/\/node_modules\/@types\//.test(line));
}

/**
 * Copies a tree without the entries that match, and without nested packages, which are listed
 * separately.
 */
async function copyWithout(from: string, to: string, names: RegExp): Promise<void> {
  const isKept = (path: string): boolean => {
    if (path === from) return true;
    const name = basename(path);
    return name !== 'node_modules' && !names.test(name) && !NOT_OF_CHARTS.test(path);
  };
  await cp(from, to, { recursive: true, filter: isKept });
}

/** Strips symbols from programs and libraries. */
async function strip(directory: string): Promise<void> {
  const files = (await readdir(directory, { recursive: true, withFileTypes: true }))
    .filter(
      (entry) =>
        entry.isFile() &&
        (/\.so(\.|$)/.test(entry.name) || !entry.name.includes('.') || /^python3\.\d+$/.test(entry.name)),
    )
    .map((entry) => resolve(entry.parentPath, entry.name));
  const programs: string[] = [];
  for (const file of files) if (await isElf(file)) programs.push(file);
  if (programs.length > 0) await run('strip', ['--strip-unneeded', ...programs]);
}

async function isElf(path: string): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    const { buffer } = await file.read(new Uint8Array(4), 0, 4, 0);
    return Buffer.from(buffer).toString('latin1') === '\x7fELF';
  } finally {
    await file.close();
  }
}
