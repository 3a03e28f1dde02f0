import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { createProgram } from '../../src/cli/program.ts';

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

async function job(file = 'kubernetes-job.yaml'): Promise<PodSpec> {
  const documents = parseAllDocuments(await readFile(join(root, 'examples', file), 'utf8'));
  if (!Array.isArray(documents)) throw new Error('the file is empty');
  expect(documents.flatMap(({ errors }) => errors)).toEqual([]);
  const all = documents.map((document) => document.toJS() as Job);
  return (all.find(({ kind }) => kind === 'Job') as Job).spec.template.spec;
}

describe('the Kubernetes example', () => {
  it('asks for what the command line has', async () => {
    const [container] = (await job()).containers;
    const [name, ...args] = container.args;
    const program = createProgram({ print: () => undefined, tell: () => undefined, status: () => undefined });
    const command = program.commands.find((each) => each.name() === name);
    expect(command?.parseOptions(args)).toEqual({ operands: [], unknown: [] });
    expect(command?.opts()).toMatchObject({ latencyBudget: [{ latencyMs: 8 }], timeBudget: 900, ui: 'lines' });
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

describe('the Kubernetes example of agents', () => {
  it('asks for what the command line has, with TLS and a token from Secrets', async () => {
    const [container] = (await job('kubernetes-agents.yaml')).containers;
    const [group, name, ...args] = container.args;
    const program = createProgram({ print: () => undefined, tell: () => undefined, status: () => undefined });
    const fleet = program.commands.find((each) => each.name() === group);
    const command = fleet?.commands.find((each) => each.name() === name);
    expect(command?.parseOptions(args)).toEqual({ operands: [], unknown: [] });
    const mounted = /^\/(token|tls)\//;
    expect(command?.opts()).toMatchObject({
      ...{ listen: '0.0.0.0:7411', plaintext: false, allowTarget: ['triton.default.svc:8001'] },
      ...{ tokenFile: expect.stringMatching(mounted), tlsCert: expect.stringMatching(mounted) },
      ...{ tlsKey: expect.stringMatching(mounted), tlsCa: expect.stringMatching(mounted) },
    });
  });

  it('needs no privileges, and writes nowhere', async () => {
    const { automountServiceAccountToken, securityContext, containers, volumes } = await job('kubernetes-agents.yaml');
    const [container] = containers;
    expect(automountServiceAccountToken).toBe(false);
    expect(securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: 1000 });
    expect(container.securityContext).toMatchObject({ readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } });
    expect(container.volumeMounts.map(({ name }) => name).sort()).toEqual(volumes.map(({ name }) => name).sort());
    for (const mount of container.volumeMounts) expect(mount).toMatchObject({ readOnly: true });
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
});
