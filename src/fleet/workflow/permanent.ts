/** Codes of errors that no retry changes. Pure: the workflow's sandbox runs it. */
export const PERMANENT: ReadonlySet<string> = new Set([
  ...['USAGE', 'UNSUPPORTED', 'SPACE_INVALID', 'CONFIG_INVALID', 'INPUT_INVALID', 'JOURNAL_INVALID'],
  ...['OUTPUT_EXISTS', 'MODEL_UNKNOWN', 'CONTROL_DISABLED', 'FOREIGN_TRAFFIC', 'LOAD_REFUSED'],
]);
