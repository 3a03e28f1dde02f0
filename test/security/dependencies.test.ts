import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { auditVerdict } from '../../.ci/audit.ts';

interface LockedPackage {
  readonly version?: string;
  readonly resolved?: string;
  readonly integrity?: string;
  readonly link?: boolean;
  readonly hasInstallScript?: boolean;
}

const read = (name: string) => JSON.parse(readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8'));
const lock = read('package-lock.json') as {
  readonly lockfileVersion: number;
  readonly packages: Record<string, LockedPackage>;
};
const manifest = read('package.json') as {
  readonly allowScripts: Record<string, boolean>;
  readonly scripts: Record<string, string>;
  readonly dependencies: Record<string, string>;
  readonly devDependencies: Record<string, string>;
};
/** The package beside this one, which is in the repository. */
const lab = ['lab', 'node_modules/tritune-lab'];
const locked = Object.entries(lock.packages).filter(([path]) => path !== '' && !lab.includes(path));
const nameOf = (path: string): string => path.split('node_modules/').at(-1) as string;

describe('the lock file', () => {
  it('pins every package by the hash of its contents, and takes none from elsewhere than a registry', () => {
    expect(lock.lockfileVersion).toBe(3);
    expect(locked.length).toBeGreaterThan(50);
    for (const [path, { version, integrity, link, resolved }] of locked) {
      expect(path, path).toMatch(/^node_modules\//);
      expect(link, path).toBeUndefined();
      expect(version, path).toMatch(/^\d+\.\d+\.\d+/);
      expect(integrity, path).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
      if (resolved !== undefined) expect(resolved, path).toMatch(/^https:\/\/[^/]+\/.*\.tgz$/);
    }
  });

  it('is of the dependencies that package.json names, all of them by version', () => {
    const root = lock.packages[''] as unknown as Pick<typeof manifest, 'dependencies' | 'devDependencies'>;
    expect(root.dependencies).toEqual(manifest.dependencies);
    expect(root.devDependencies).toEqual(manifest.devDependencies);
    const ranges = Object.values({ ...manifest.dependencies, ...manifest.devDependencies });
    for (const range of ranges) expect(range).toMatch(/^[\^~]?\d+(\.\d+){0,2}(-alpha\.\d+)?$/);
  });

  it("lets no package run a script when it is installed, but the pinned Node's", () => {
    const withScripts = locked.filter(([, { hasInstallScript }]) => hasInstallScript).map(([path]) => nameOf(path));
    const { allowScripts } = manifest;
    expect(Object.keys(allowScripts).filter((name) => allowScripts[name])).toEqual(['node']);
    // Each other one is refused by name, so that a new one is seen.
    expect([...new Set(withScripts)].sort()).toEqual(Object.keys(allowScripts).sort());
    expect(Object.keys(manifest.scripts).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([]);
  });
});

describe('the audit', () => {
  const answer = (high: number, critical = 0): string =>
    JSON.stringify({ metadata: { vulnerabilities: { low: 1, moderate: 2, high, critical, total: 3 } } });

  it('fails for what is of high severity, and for nothing less', () => {
    expect(auditVerdict(answer(0))).toMatchObject({ isBad: false, isAudited: true });
    expect(auditVerdict(answer(1))).toMatchObject({ isBad: true, isAudited: true });
    expect(auditVerdict(answer(0, 1))).toMatchObject({ isBad: true, line: expect.stringContaining('1 critical') });
  });

  it('says that there was none if the registry cannot be reached or offers none', () => {
    const silences = [
      '',
      'npm error',
      'null',
      '{"error":{"code":"ENOTFOUND"}}',
      '{"message":"x"}',
      '{"statusCode":405}',
    ];
    for (const silence of silences) {
      expect(auditVerdict(silence)).toMatchObject({
        isBad: false,
        isAudited: false,
        line: expect.stringMatching(/^NOT AUDITED/),
      });
    }
  });

  it('fails for an answer that is no report', () => {
    for (const statusCode of [200, 401, 403, 429, 500, 503])
      expect(auditVerdict(JSON.stringify({ statusCode, message: 'x' }))).toMatchObject({
        isBad: true,
        isAudited: false,
      });
  });
});
