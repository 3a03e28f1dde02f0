/** One sample of a Prometheus text page. */
export interface MetricSample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** Milliseconds since the Unix epoch; absent if the page does not say when it was read. */
  readonly atMs?: number;
}

/** A sample with the time at which it was read. */
export type ScrapedSample = Required<MetricSample>;

/**
 * The parts cannot match each other's characters, so a line of blanks, braces or quotes costs no
 * more than any other.
 */
const LINE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\s*\{(.*)\}\s*|\s+)(?=\S)([^\s}]+)(?:\s+(-?\d+))?$/;
const LABEL = /\s*([a-zA-Z_][a-zA-Z0-9_]*)\s*=\s*"([^"\\]*(?:\\.[^"\\]*)*)"\s*,?/gy;

/**
 * Returns the samples of a page in Prometheus' text format 0.0.4. Skips comments and lines that are
 * not samples, because one odd line of another exporter must not cost the rest.
 */
export function parsePrometheus(text: string): MetricSample[] {
  return text.split('\n').flatMap((line) => parseSample(line) ?? []);
}

/** The same for one line; null for a line that is no sample. */
export function parseSample(line: string): MetricSample | null {
  const match = line.startsWith('#') ? null : LINE.exec(line.trim());
  const value = match && toNumber(match[3] as string);
  if (!match || value === null) return null;
  const at = match[4] === undefined ? {} : { atMs: Number(match[4]) };
  return { name: match[1] as string, labels: parseLabels(match[2] ?? ''), value, ...at };
}

function parseLabels(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(LABEL)].map(([, name, value]) => [name as string, unescaped(value as string)]),
  );
}

function unescaped(text: string): string {
  return text.replace(/\\(.)/g, (_, character: string) => (character === 'n' ? '\n' : character));
}

function toNumber(text: string): number | null {
  const infinite = /^([+-]?)Inf$/i.exec(text);
  if (infinite) return infinite[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  if (/^NaN$/i.test(text)) return Number.NaN;
  const value = Number(text);
  return Number.isNaN(value) ? null : value;
}
