import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readCompose, withVariables } from '../support/compose.ts';
import { parseCommandLine } from '../support/parse-command-line.ts';

const root = resolve(import.meta.dirname, '../..');

interface Job {
  readonly kind: string;
  readonly spec: { readonly template: { readonly spec: PodSpec } };
}

interface PodSpec {
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: { readonly runAsNonRoot: boolean; readonly runAsUser: number };
  readonly containers: readonly [Container];
  readonly volumes: readonly { readonly name: string }[];
}

interface Container {
  readonly args: readonly string[];
  readonly securityContext: object;
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

async function job(): Promise<PodSpec> {
  const documents = parseAllDocuments(await readFile(join(root, 'examples/kubernetes-job.yaml'), 'utf8'));
  if (!Array.isArray(documents)) throw new Error('the file is empty');
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  const all = documents.map((document) => document.toJS() as Job);
  return (all.find(({ kind }) => kind === 'Job') as Job).spec.template.spec;
}

describe('the Kubernetes example', () => {
  it('asks for what the command line has', async () => {
    const [container] = (await job()).containers;
    const { unknown, options } = await parseCommandLine(container.args);
    expect(unknown).toEqual([]);
    expect(options).toMatchObject({ latencyBudget: [{ latencyMs: 8 }], timeBudget: 900, ui: 'lines' });
  });

  it('needs no privileges, and writes to its volumes only', async () => {
    const { automountServiceAccountToken, securityContext, containers, volumes } = await job();
    const [container] = containers;
    expect(automountServiceAccountToken).toBe(false);
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(volumes.map(({ name }) => name).sort());
    const output = container.args.find((arg) => arg.startsWith('--output='))?.slice('--output='.length) as string;
    expect(container.volumeMounts.some(({ mountPath }) => output.startsWith(`${mountPath}/`))).toBe(true);
  });
});

describe('the compose file', () => {
  it('asks for what the command line has, and hardens every container of ours', async () => {
    const { services, secrets, volumes } = await readCompose();
    for (const [name, service] of Object.entries(services)) {
      expect(service.cap_drop ?? service.deploy, name).toBeDefined();
      if (service.build === undefined) continue;
      expect((await parseCommandLine(withVariables(service.command, {}))).unknown, name).toEqual([]);
      expect(service, name).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
      const files = service.command.flatMap((word) => /\/run\/secrets\/([\w-]+)/.exec(word)?.[1] ?? []);
      expect(service.secrets ?? [], name).toEqual(expect.arrayContaining(files));
      for (const secret of service.secrets ?? []) expect(Object.keys(secrets)).toContain(secret);
      for (const [volume = '', place] of (service.volumes ?? []).map((each) => each.split(':'))) {
        expect(Object.keys(volumes), name).toContain(volume);
        expect(
          service.command.some((word) => word.includes(`=${place}`)),
          `${name} ${place}`,
        ).toBe(true);
      }
    }
    // A worker is asked for its journals under the name that it had.
    for (const name of ['worker-1', 'worker-2']) expect(services[name]?.hostname).toBe(name);
    // The page is plaintext: for the host's own interface alone.
    expect(services.watch?.ports).toEqual(['127.0.0.1:7420:7420']);
  });
});

it('copies into the image what the repository has, and runs there as nobody special', async () => {
  const dockerfile = await readFile(join(root, 'Dockerfile'), 'utf8');
  const manifest = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { bin: Record<string, string> };
  for (const [name, file] of Object.entries(manifest.bin)) {
    expect(dockerfile).toContain(`ln -s /opt/tritune/${file} /usr/local/bin/${name}`);
  }
  const [, image = ''] = dockerfile.split(/^FROM /m).slice(1);
  expect(/^USER (\S+)$/m.exec(image)?.[1]).toBe('node');
  // What the chart and the compose file mount is that user's.
  expect(image).toContain('chown node:node /runs /state');
  expect(image).toContain('peerDependencies');
});

it('has a chart of the version that the package has', async () => {
  const chart = parse(await readFile(join(root, 'deploy/helm/tritune-fleet/Chart.yaml'), 'utf8'));
  const { version } = JSON.parse(await readFile(join(root, 'package.json'), 'utf8')) as { version: string };
  expect(chart).toMatchObject({ version, appVersion: version });
});
