import { spawnSync } from 'node:child_process';

/**
 * Asks the registry for known vulnerabilities of what the lock file pins: `npm run audit`, with `-- --strict` before a
 * release. Exits with 1 for one of high severity or worse. Where nobody can be asked it says so, and exits with 0 unless
 * `--strict`: a build without a network must not fail for that, and must not look as if it had been audited either.
 */

/** What an answer of `npm audit --json` comes to. */
export interface AuditVerdict {
  readonly isBad: boolean;
  readonly isAsked: boolean;
  readonly line: string;
}

/** Reads the answer; anything but one is "not asked". */
export function auditVerdict(answer: string): AuditVerdict {
  const counts = countsIn(answer);
  if (!counts) {
    return {
      isBad: false,
      isAsked: false,
      line: 'NOT AUDITED: the registry could not be asked for known vulnerabilities',
    };
  }
  const { low = 0, moderate = 0, high = 0, critical = 0 } = counts;
  const words = `known vulnerabilities: ${critical} critical, ${high} high, ${moderate} moderate, ${low} low`;
  return { isBad: high + critical > 0, isAsked: true, line: words };
}

function countsIn(answer: string): Readonly<Record<string, number>> | null {
  try {
    const { metadata } = JSON.parse(answer) as {
      readonly metadata?: { readonly vulnerabilities?: Readonly<Record<string, number>> };
    };
    return metadata?.vulnerabilities ?? null;
  } catch {
    return null;
  }
}

if (import.meta.main) {
  const { stdout } = spawnSync('npm', ['audit', '--json', '--audit-level=high'], {
    encoding: 'utf8',
    timeout: 120_000,
  });
  const { isBad, isAsked, line } = auditVerdict(stdout ?? '');
  process.stderr.write(`${line}\n`);
  process.exitCode = isBad || (!isAsked && process.argv.includes('--strict')) ? 1 : 0;
}
