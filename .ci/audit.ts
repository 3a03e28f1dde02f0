import { spawnSync } from 'node:child_process';

/**
 * Asks the registry for known vulnerabilities of what the lock file pins: `npm run audit`, with
 * `-- --strict` before a release. Exits with 1 for one of high severity or worse, and for an answer
 * that is no report. If the registry cannot be reached or offers no audit, it says so and exits
 * with 0, unless `--strict`: a build without a network must not fail for that, and must not look
 * audited either.
 */

/**
 * What an answer of `npm audit --json` amounts to. `isAudited`: the registry was asked and answered
 * with a report.
 */
export interface AuditVerdict {
  readonly isBad: boolean;
  readonly isAudited: boolean;
  readonly line: string;
}

interface AuditAnswer {
  readonly metadata?: { readonly vulnerabilities?: Readonly<Record<string, number>> };
  /** The status of an answer that was an error; absent if nothing answered. */
  readonly statusCode?: number;
}

/**
 * HTTP: not found, method not allowed, not implemented. A mirror that offers no audit answers so.
 */
const NO_SUCH_SERVICE: ReadonlySet<number> = new Set([404, 405, 501]);

/** Reads the answer. */
export function auditVerdict(answer: string): AuditVerdict {
  const { metadata, statusCode } = readAnswer(answer);
  if (metadata?.vulnerabilities) {
    const { low = 0, moderate = 0, high = 0, critical = 0 } = metadata.vulnerabilities;
    const line = `known vulnerabilities: ${critical} critical, ${high} high, ${moderate} moderate, ${low} low`;
    return { isBad: high + critical > 0, isAudited: true, line };
  }
  if (statusCode === undefined || NO_SUCH_SERVICE.has(statusCode))
    return { isBad: false, isAudited: false, line: 'NOT AUDITED: no registry that offers an audit could be reached' };
  return {
    isBad: true,
    isAudited: false,
    line: `NOT AUDITED: the registry answered with status ${statusCode} instead of a report`,
  };
}

/** An answer that is not JSON counts as none. */
function readAnswer(answer: string): AuditAnswer {
  try {
    return (JSON.parse(answer) as AuditAnswer | null) ?? {};
  } catch {
    return {};
  }
}

if (import.meta.main) {
  const { stdout } = spawnSync('npm', ['audit', '--json', '--audit-level=high'], {
    encoding: 'utf8',
    timeout: 120_000,
  });
  const { isBad, isAudited, line } = auditVerdict(stdout ?? '');
  process.stderr.write(`${line}\n`);
  process.exitCode = isBad || (!isAudited && process.argv.includes('--strict')) ? 1 : 0;
}
