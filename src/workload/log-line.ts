import { isJsonObject } from '#base/json.ts';
import { lookUp } from '#base/look-up.ts';
import { BadRecord } from '#base/records.ts';
import { createTraceReader, type TraceColumns } from './trace-reader.ts';
import { logTimeNs } from './trace-times.ts';

/** A request as a log line describes it. */
export interface LoggedRequest {
  readonly timeNs: number;
  /** The requested model, if the log has it in its own field. */
  readonly model: string | null;
  /** The target: a path with its query, or a gRPC method; null if the log does not say. */
  readonly target: string | null;
}

/** How the lines of a log are read. */
export interface LogReader {
  /** The name of the form, for a person. */
  readonly form: string;
  /** The first line is a request; false for a header. */
  readonly takesFirst: boolean;
  /** Throws BadRecord for a line that is not a request. */
  read(line: string): LoggedRequest;
}

/**
 * The start of a line in the Common and the Combined Log Format, as Apache and nginx write it:
 * host, identity, user, time, request.
 */
const ACCESS = /^\S+ \S+ .*?\[([^\]]{1,40})\] "(?:[A-Z]+ )?(\S*)/;

/**
 * Fields of JSON logs, and columns of CSV, that say which model was asked, or what; in the order in
 * which they are looked for.
 */
const MODEL_NAMES = ['model', 'model_name'];
const TARGET_NAMES = [
  ...MODEL_NAMES,
  ...['path', 'uri', 'request_uri', 'url', 'request_path', 'target', 'route', 'endpoint'],
  ...['request.path', 'request.uri', 'request.url', 'http.path', 'http.url', 'request'],
];

/**
 * Returns how to read a log by its first line: Common or Combined Log Format, JSON lines, CSV, or a
 * time a line. `columns` names the fields where they are not found by their usual names. Throws
 * BadRecord.
 */
export function createLogReader(first: string, columns: TraceColumns): LogReader {
  if (ACCESS.test(first)) return { form: 'access log', takesFirst: true, read: accessReader() };
  const classColumn = columns.classColumn ?? targetNameIn(first);
  const reader = createTraceReader(first, { ...columns, classColumn });
  const form = first.startsWith('{') ? 'JSON lines' : reader.takesFirst ? 'times' : 'CSV';
  const isModel = classColumn !== undefined && MODEL_NAMES.includes(classColumn.toLowerCase());
  const read = (line: string): LoggedRequest => {
    const { timeNs, className } = reader.read(line);
    if (isModel || className === null) return { timeNs, model: className, target: null };
    return { timeNs, model: null, target: className.replace(/^[A-Z]+ (\S+) HTTP.*$/, '$1') };
  };
  return { form, takesFirst: reader.takesFirst, read };
}

function accessReader(): LogReader['read'] {
  // Many lines are of one second.
  let [lastTime, lastNs] = ['', 0];
  return (line) => {
    const [, time, target = ''] = ACCESS.exec(line) ?? [];
    if (time === undefined) {
      throw new BadRecord('it is not a line of an access log', 'give a log in the Common or Combined Log Format');
    }
    if (time !== lastTime) [lastTime, lastNs] = [time, logTimeNs(time)];
    return { timeNs: lastNs, model: null, target };
  };
}

function targetNameIn(first: string): string | undefined {
  if (!first.startsWith('{')) {
    const names = first.split(',').map((name) => name.trim().replace(/^"|"$/g, '').toLowerCase());
    return names.length < 2 ? undefined : TARGET_NAMES.find((name) => names.includes(name));
  }
  let record: unknown;
  try {
    record = JSON.parse(first);
  } catch {
    return undefined;
  }
  return TARGET_NAMES.find((name) => {
    const value = name
      .split('.')
      .reduce<unknown>((inner, part) => (isJsonObject(inner) ? lookUp(inner, part) : undefined), record);
    return typeof value === 'string';
  });
}
