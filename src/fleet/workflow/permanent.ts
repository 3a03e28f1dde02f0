/** Codes of errors that no retry can fix. Pure: the workflow's sandbox runs it. */
export const PERMANENT: ReadonlySet<string> = new Set([
  ...['USAGE', 'UNSUPPORTED', 'SPACE_INVALID', 'CONFIG_INVALID', 'INPUT_INVALID', 'JOURNAL_INVALID'],
  ...['OUTPUT_EXISTS', 'MODEL_UNKNOWN', 'MODEL_LEFT_CHANGED', 'CONTROL_DISABLED', 'FOREIGN_TRAFFIC', 'LOAD_REFUSED'],
]);

/**
 * Codes of errors after which no retry can restore a server. Errors of a server that is still
 * starting are not among them.
 */
export const NEVER_RESTORED: ReadonlySet<string> = new Set(['USAGE', 'UNSUPPORTED', 'JOURNAL_INVALID']);
