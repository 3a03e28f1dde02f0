import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bundle } from './bundle.ts';

/**
 * Prints the bill of materials of an installation, in CycloneDX: the packages that npm installs,
 * and those whose code is in the bundle: node .ci/sbom.ts.
 */
interface Sbom {
  readonly components: readonly { readonly 'bom-ref': string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn?: readonly string[] }[];
}

function readSbom(...omitted: readonly string[]): Sbom {
  const words = [
    'sbom',
    '--package-lock-only',
    '--sbom-format=cyclonedx',
    '--sbom-type=application',
    '--workspaces=false',
  ];
  const text = execFileSync('npm', [...words, ...omitted.map((kind) => `--omit=${kind}`)], { maxBuffer: 64e6 });
  return JSON.parse(text.toString()) as Sbom;
}

const folder = mkdtempSync(join(tmpdir(), 'tritune-sbom-'));
try {
  const bundled = (await bundle(folder)).map(({ name, version }) => `${name}@${version}`);
  const installed = readSbom('dev', 'peer');
  const refs = new Set([...installed.dependencies.map(({ ref }) => ref), ...bundled]);
  const all = readSbom();
  const isShipped = (ref: string): boolean => refs.has(ref);
  const components = all.components.filter((each) => isShipped(each['bom-ref']));
  const dependencies = all.dependencies
    .filter(({ ref }) => isShipped(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter(isShipped) }));
  const missing = bundled.filter((ref) => !components.some((each) => each['bom-ref'] === ref));
  if (missing.length > 0) throw new Error(`the lock file does not have ${missing.join(', ')}: run npm ci`);
  process.stdout.write(`${JSON.stringify({ ...installed, components, dependencies }, null, 2)}\n`);
} finally {
  rmSync(folder, { recursive: true });
}
