/** Codes of errors that no retry changes. Pure: the workflow's sandbox runs it. */
export const PERMANENT: ReadonlySet<string> = new Set([
  ...['USAGE', 'UNSUPPORTED', 'SPACE_INVALID', 'CONFIG_INVALID', 'INPUT_INVALID', 'JOURNAL_INVALID'],
  ...['OUTPUT_EXISTS', 'MODEL_UNKNOWN', 'CONTROL_DISABLED', 'FOREIGN_TRAFFIC', 'LOAD_REFUSED'],
]);

/** Those after which a server cannot be put back by trying again; what a server that is just starting says is none of them. */
export const NEVER_RESTORED: ReadonlySet<string> = new Set(['USAGE', 'UNSUPPORTED', 'JOURNAL_INVALID']);
