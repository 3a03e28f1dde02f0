import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type CheckedChart, chartTools, checkChart, type KubernetesObject, objectsIn } from '../support/chart.ts';
import { parseCommandLine } from '../support/parse-command-line.ts';

/** All that the chart can make. */
const everything = {
  image: { repository: 'registry.example/tritune', tag: '1.2.3' },
  temporal: {
    address: 'temporal-frontend.temporal.svc:7233',
    namespace: 'tuning',
    tls: { enabled: true, secretName: 'temporal-tls', mutual: true, serverName: 'temporal.example' },
    apiKey: { secretName: 'temporal-api-key', key: 'api-key' },
  },
  payloadKey: { secretName: 'payload', key: 'key' },
  workers: [
    {
      name: 'a100',
      group: 'a100',
      replicas: 4,
      server: 'triton-$(POD_INDEX).triton.default.svc:8001',
      extraArgs: ['--protocol=grpc'],
      serverToken: { secretName: 'gateway', key: 'token' },
      agents: 'fleet-agents-$(POD_INDEX).fleet-agents:7411',
      nodeSelector: { 'kubernetes.io/os': 'linux' },
    },
    {
      name: 'l4',
      group: 'l4',
      replicas: 2,
      triton: {
        image: 'nvcr.io/nvidia/tritonserver:26.09-py3',
        args: ['tritonserver', '--model-repository=/models', '--model-control-mode=explicit'],
        resources: { limits: { 'nvidia.com/gpu': 1 } },
        volumeMounts: [{ name: 'models', mountPath: '/models', readOnly: true }],
      },
      volumes: [{ name: 'models', persistentVolumeClaim: { claimName: 'models' } }],
      state: { size: '2Gi', storageClassName: 'fast' },
    },
  ],
  agents: { enabled: true, count: 3, allowTargets: ['triton.default.svc:8001', 'triton-0.triton'] },
  watch: { token: { secretName: 'watch', key: 'token' }, tls: { secretName: 'watch-tls' }, group: 'a100' },
};
const little = { workers: [{ name: 'one', group: 'g', replicas: 1, server: 'triton.default.svc:8001' }] };

let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tritune-chart-'));
  await chartTools();
});

afterAll(() => rm(folder, { recursive: true, force: true }));

const known = new Map<string, Promise<CheckedChart>>();

/** Several tests look at what comes of the same values. */
function checked(values: object): Promise<CheckedChart> {
  const text = JSON.stringify(values);
  const chart = known.get(text) ?? check(text);
  known.set(text, chart);
  return chart;
}

async function check(text: string): Promise<CheckedChart> {
  const path = join(folder, `values-${known.size}.json`);
  await writeFile(path, text);
  return checkChart(path);
}

async function rendered(values: object): Promise<readonly KubernetesObject[]> {
  const chart = await checked(values);
  if ('refused' in chart) throw new Error(chart.refused);
  return objectsIn(chart.manifests);
}

async function refusal(values: object): Promise<string> {
  const chart = await checked(values);
  return 'refused' in chart ? chart.refused : 'it was taken';
}

interface Container {
  readonly name: string;
  readonly image: string;
  readonly args: readonly string[];
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly resources: { readonly requests?: object };
  readonly volumeMounts: readonly { readonly name: string; readonly mountPath: string }[];
}

interface Pod {
  readonly serviceAccountName: string;
  readonly automountServiceAccountToken: boolean;
  readonly securityContext: object;
  readonly containers: readonly Container[];
  readonly volumes: readonly { readonly name: string }[];
}

interface Templated {
  readonly template: { readonly metadata: { readonly labels: Readonly<Record<string, string>> }; readonly spec: Pod };
  readonly volumeClaimTemplates?: readonly { readonly metadata: { readonly name: string } }[];
  readonly selector?: { readonly matchLabels: Readonly<Record<string, string>> };
}

const podsIn = (objects: readonly KubernetesObject[]): readonly Templated[] =>
  objects.flatMap(({ spec }) => (spec && 'template' in spec ? [spec as unknown as Templated] : []));

const own = (pod: Pod): readonly Container[] => pod.containers.filter(({ name }) => name !== 'triton');

describe('the Helm chart', () => {
  it.each([
    ['with all that it has', everything],
    ['with one worker', little],
    ['as it comes', {}],
  ])("passes Kubernetes' schemas %s", async (_, values) => {
    const chart = await checked(values);
    expect(chart).toMatchObject({ lint: [], faults: [] });
    expect(Object.keys('manifests' in chart ? chart.manifests : {}).length).toBe(5);
  });

  it('gives what the command line has, and files that are mounted', async () => {
    const pods = podsIn(await rendered(everything));
    const seen = new Map<string, Readonly<Record<string, unknown>>>();
    for (const { template } of pods) {
      for (const { name, image, args, volumeMounts } of own(template.spec)) {
        expect(image).toBe('registry.example/tritune:1.2.3');
        const { unknown, options } = await parseCommandLine(args);
        expect(unknown, name).toEqual([]);
        seen.set(`${name} ${options.group ?? ''}`.trim(), options);
        for (const path of args.flatMap((arg) => /=(\/[\w./-]+)$/.exec(arg)?.[1] ?? []))
          expect(
            volumeMounts.some(({ mountPath }) => path === mountPath || path.startsWith(`${mountPath}/`)),
            `${name} ${path}`,
          ).toBe(true);
      }
    }
    expect([...seen.keys()].sort()).toEqual(['agent', 'watch a100', 'worker a100', 'worker l4']);
    const temporal = {
      temporal: 'temporal-frontend.temporal.svc:7233',
      temporalNamespace: 'tuning',
      temporalTls: true,
      temporalTlsServerName: 'temporal.example',
      payloadKeyFile: '/payload-key/key',
      temporalTlsCert: '/temporal-tls/tls.crt',
      temporalApiKeyFile: '/temporal-api-key/api-key',
    };
    expect(seen.get('worker a100')).toMatchObject({
      ...temporal,
      server: 'triton-$(POD_INDEX).triton.default.svc:8001',
      state: '/state',
      tokenFile: '/server-token/token',
      agents: ['fleet-agents-$(POD_INDEX).fleet-agents:7411'],
      agentTlsKey: '/agents-tls/tls.key',
    });
    expect(seen.get('worker l4')).toMatchObject({ server: '$(POD_NAME).fleet-l4.tuning.svc:8001' });
    expect(seen.get('watch a100')).toMatchObject({ ...temporal, plaintext: false, tokenFile: '/token/token' });
    expect(seen.get('agent')).toMatchObject({
      listen: '0.0.0.0:7411',
      plaintext: false,
      tlsCa: '/tls/ca.crt',
      maxThreads: 2,
      maxRate: 1_000_000,
      maxConnections: 20_000,
      allowTarget: ['triton.default.svc:8001', 'triton-0.triton'],
    });
  });

  it('lets no pod do more than it must', async () => {
    for (const values of [everything, little]) {
      const objects = await rendered(values);
      const kinds = new Set(objects.map(({ kind }) => kind));
      for (const kind of ['Role', 'ClusterRole', 'RoleBinding', 'ClusterRoleBinding', 'Secret'])
        expect(kinds).not.toContain(kind);
      for (const { template, volumeClaimTemplates = [] } of podsIn(objects)) {
        const pod = template.spec;
        expect(pod).toMatchObject({
          serviceAccountName: 'fleet',
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
        });
        expect(pod).not.toHaveProperty('hostNetwork');
        for (const container of own(pod)) {
          expect(container.securityContext).toEqual({
            allowPrivilegeEscalation: false,
            readOnlyRootFilesystem: true,
            capabilities: { drop: ['ALL'] },
          });
          expect(container.resources.requests, container.name).toBeDefined();
        }
        const volumes = [...pod.volumes, ...volumeClaimTemplates.map(({ metadata }) => metadata)].map(
          ({ name }) => name,
        );
        const mounts = pod.containers.flatMap(({ volumeMounts }) => volumeMounts.map(({ name }) => name));
        expect(new Set(mounts)).toEqual(new Set(volumes));
        expect(new Set(volumes).size).toBe(volumes.length);
      }
    }
  });

  it('selects what it makes: services, policies and sets alike', async () => {
    const objects = await rendered(everything);
    const labels = podsIn(objects).map(({ template }) => template.metadata.labels);
    const matching = (selector: Readonly<Record<string, string>>) =>
      labels.filter((each) => Object.entries(selector).every(([name, value]) => each[name] === value)).length;
    for (const { kind, metadata, spec } of objects) {
      // The Job controller gives the pods of a Job their name.
      if (kind === 'Service' && metadata.name !== 'fleet-agents')
        expect(matching(spec.selector as Readonly<Record<string, string>>), metadata.name).toBe(1);
      if (kind === 'NetworkPolicy') {
        const { podSelector } = spec as { podSelector: { matchLabels: Readonly<Record<string, string>> } };
        expect(matching(podSelector.matchLabels), metadata.name).toBeGreaterThan(0);
      }
      if (kind === 'StatefulSet' || kind === 'Deployment') {
        const { selector, template } = spec as unknown as Templated;
        expect(template.metadata.labels).toMatchObject(selector?.matchLabels ?? { none: 'none' });
      }
    }
    const job = objects.find(({ kind }) => kind === 'Job');
    const service = objects.find(({ kind, metadata }) => kind === 'Service' && metadata.name === 'fleet-agents');
    expect(job?.metadata.name).toBe('fleet-agents');
    expect(service?.spec.selector).toEqual({ 'batch.kubernetes.io/job-name': 'fleet-agents' });
    expect(job?.spec).toMatchObject({ completionMode: 'Indexed', completions: 3, parallelism: 3 });
  });

  interface Policy {
    readonly policyTypes: readonly string[];
    readonly ingress: readonly unknown[];
    readonly egress: readonly { readonly to?: readonly unknown[]; readonly ports: readonly { port: number }[] }[];
  }
  const policiesOf = async (values: object): Promise<ReadonlyMap<string, Policy>> =>
    new Map(
      (await rendered(values))
        .filter(({ kind }) => kind === 'NetworkPolicy')
        .map(({ metadata, spec }) => [metadata.name, spec as unknown as Policy]),
    );
  const portsOf = (policy: Policy | undefined) => policy?.egress.map(({ ports }) => ports.map(({ port }) => port));

  it('lets pods connect only to what they need, and nobody to the page unless told', async () => {
    const policies = await policiesOf(everything);
    for (const { policyTypes } of policies.values()) expect(policyTypes).toEqual(['Ingress', 'Egress']);
    expect(portsOf(policies.get('fleet-workers'))).toEqual([[53, 53], [7233], [8000, 8001, 8002], [7411]]);
    expect(portsOf(policies.get('fleet-agents'))).toEqual([
      [53, 53],
      [8001, 8000],
    ]);
    expect(portsOf(policies.get('fleet-watch'))).toEqual([[53, 53], [7233]]);
    expect(policies.get('fleet-watch')?.ingress).toEqual([]);
    const peers = [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }];
    const narrowed = await policiesOf({
      workers: [{ ...little.workers[0], server: 'triton.default.svc:9001' }],
      networkPolicy: { watchFrom: peers, temporalTo: peers, serversTo: peers },
    });
    expect(narrowed.get('fleet-watch')?.ingress).toMatchObject([{ from: peers }]);
    expect(narrowed.get('fleet-workers')?.egress).toMatchObject([
      {},
      { to: peers, ports: [{ port: 7233 }] },
      { to: peers, ports: [{ port: 8000 }, { port: 8001 }, { port: 8002 }, { port: 9001 }] },
    ]);
  });

  it('refuses values that make no sense before anything is installed', async () => {
    const worker = { name: 'w', group: 'g', replicas: 1 };
    expect(await refusal({ workers: [worker] })).toMatch(/workers/);
    expect(await refusal({ workers: [{ ...worker, server: 'triton:8001', triton: everything.workers[1] }] })).toMatch(
      /workers/,
    );
    expect(await refusal({ workers: [{ ...worker, server: 'triton' }] })).toMatch(/pattern/);
    expect(await refusal({ worker: [] })).toMatch(/additional/i);
    expect(await refusal({ temporal: { address: 'temporal' } })).toMatch(/pattern/);
    expect(await refusal({ agents: { enabled: true } })).toContain('name the servers that the agents may send to');
  });
});
