/** Triton's output for an option that it does not accept: its usage, indented under headings. */
const USAGE = /^Usage: tritonserver/;
const OF_USAGE = /^(\s.*|[A-Z][\w/ ]*:|)$/;
/**
 * Lines that do not describe a failure: information, warnings, tables, and the signal that we sent.
 */
const NOISE = /^([IW]\d{4} |[+|]|Signal \(15\) received|\s*$)/;
const LINES = 4;

/**
 * Returns the last lines of a server's log as one line, without its usage, and without non-error
 * lines if there are others.
 */
export function lastWords(log: string): string {
  const said = withoutUsage(log.split('\n')).filter((line) => line.trim() !== '');
  const telling = said.filter((line) => !NOISE.test(line));
  return (telling.length > 0 ? telling : said)
    .slice(-LINES)
    .map((line) => line.trim())
    .join(' | ');
}

function withoutUsage(lines: readonly string[]): readonly string[] {
  let isUsage = false;
  return lines.filter((line) => {
    isUsage = USAGE.test(line) || (isUsage && OF_USAGE.test(line));
    return !isUsage;
  });
}
