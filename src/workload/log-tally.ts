import { invalidAt } from '#base/records.ts';
import { NS_PER_S } from '#base/units.ts';
import type { LoggedRequest, LogReader } from './log-line.ts';
import { inOrder } from './plan/events.ts';
import { GrowingArrivals } from './trace-growing.ts';
import type { TraceColumns } from './trace-reader.ts';
import type { Phase, WorkloadClass } from './workload.ts';

/** The class of a logged request, and its model if the target names one. */
interface LoggedClass {
  readonly name: string;
  readonly model: string | null;
}

const INFERENCE = /\/v2\/models\/([^/?]+)(?:\/versions\/[^/?]+)?\/(?:infer|generate|generate_stream)$/;
/** Calls of Triton's protocol and of monitoring that are not inferences. */
const UPKEEP =
  /(?:^\/v2(?:\/|$)|^\/(?:metrics|healthz?|livez?|readyz?|ready|live|ping|favicon\.ico)(?:\/|$)|ServerLive|ServerReady|ModelReady|Metadata|ModelStatistics|RepositoryIndex)/;
/** Parts of a path that name one thing among many. */
const IDENTIFIER = /^(?:\d+|[0-9a-f]{8,}|[0-9a-f]{8}-[0-9a-f-]{27})$/i;

/**
 * Returns the class of a request from its target: the model in Triton's or KServe's paths, else the
 * path without its query and with `:id` for anything like an identifier. null for health checks,
 * metrics and other calls that are no work for a model.
 */
export function classOfTarget(target: string): LoggedClass | null {
  const path = (/^https?:\/\/[^/]+(\/.*)?$/.exec(target)?.[1] ?? target).replace(/[?#].*$/, '');
  const model = INFERENCE.exec(path)?.[1];
  if (model !== undefined) return { name: decoded(model), model: decoded(model) };
  if (UPKEEP.test(path)) return null;
  if (!path.startsWith('/')) return { name: path, model: null };
  return {
    name: path
      .split('/')
      .map((part) => (IDENTIFIER.test(part) ? ':id' : part))
      .join('/'),
    model: null,
  };
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** What a text must match, such as a regular expression. */
export interface TextPattern {
  test(text: string): boolean;
}

export interface LogRule extends TraceColumns {
  /** Only requests whose target matches. */
  readonly match?: TextPattern | undefined;
  /** The maximum number of classes; the rarest are merged. */
  readonly mostClasses: number;
}

/** The content of a log or another recording of requests, as parts of a workload. */
export interface RecordedWorkload {
  readonly classes: readonly WorkloadClass[];
  readonly phases: readonly Phase[];
  /** Notes for the user, one line each. */
  readonly notes: readonly string[];
}

/** Steps that the clocks of logs have, where they have one that can be seen. */
const STEPS_S: readonly number[] = [60, 1, 0];
const LAST_CLASS = 'other';
/**
 * Most names that are counted separately while a log is read; with more of them the field is not a
 * class name.
 */
const MAX_NAMES = 10_000;

/** Collects the requests of a log, or of another recording, by class. */
export class LogTally {
  readonly #rule: LogRule;
  readonly #arrivals = new GrowingArrivals();
  readonly #classes = new Map<string, LoggedClass & { readonly index: number; requests: number }>();
  /** By target, because targets repeat. */
  readonly #known = new Map<string, LoggedClass | null>();
  #form: string;
  /** The step of the log's clock: the longest candidate of which every time is a multiple. */
  #stepS = Math.max(...STEPS_S);
  #upkeep = 0;
  #unmatched = 0;
  bad = 0;

  constructor(rule: LogRule, form = 'log') {
    this.#rule = rule;
    this.#form = form;
  }

  begin(reader: LogReader): LogReader {
    this.#form = reader.form;
    return reader;
  }

  add({ timeNs, model, target }: LoggedRequest): void {
    if (this.#rule.match && !this.#rule.match.test(target ?? model ?? '')) {
      this.#unmatched++;
      return;
    }
    const loggedClass = model !== null ? { name: model, model } : this.#findClass(target);
    if (loggedClass === null) {
      this.#upkeep++;
      return;
    }
    const name = this.#classes.size < MAX_NAMES || this.#classes.has(loggedClass.name) ? loggedClass.name : LAST_CLASS;
    let tally = this.#classes.get(name);
    if (!tally) {
      tally = {
        name,
        model: name === loggedClass.name ? loggedClass.model : null,
        index: this.#classes.size,
        requests: 0,
      };
      this.#classes.set(name, tally);
    }
    tally.requests++;
    while (this.#stepS > 0 && timeNs % (this.#stepS * NS_PER_S) !== 0) {
      this.#stepS = STEPS_S[STEPS_S.indexOf(this.#stepS) + 1] as number;
    }
    this.#arrivals.add(timeNs, tally.index);
  }

  /**
   * Returns the collected workload; `path` is for errors. Errors: INPUT_INVALID if there is
   * nothing.
   */
  workload(path: string): RecordedWorkload {
    if (this.#arrivals.length === 0) {
      throw invalidAt(path, 1, 'it contains no requests', 'give a log of requests, or change --match');
    }
    const { mostClasses } = this.#rule;
    const byRequests = [...this.#classes.values()].sort((one, other) => other.requests - one.requests);
    const kept = byRequests.length <= mostClasses ? byRequests : byRequests.slice(0, mostClasses - 1);
    const names = kept.map(({ name }) => name);
    if (kept.length < byRequests.length && !names.includes(LAST_CLASS)) names.push(LAST_CLASS);
    const placeByModel = new Uint16Array(this.#classes.size).fill(names.indexOf(LAST_CLASS));
    for (const { index, name } of kept) placeByModel[index] = names.indexOf(name);
    const { timesNs, classOf } = inOrder(this.#arrivals.arrivals);
    const counts = names.map(() => 0);
    for (let at = 0; at < classOf.length; at++) {
      const place = placeByModel[classOf[at] as number] as number;
      classOf[at] = place;
      counts[place] = (counts[place] as number) + 1;
    }
    const weights = counts.map((count) => Number((count / timesNs.length).toPrecision(4)));
    return {
      classes: names.map((name, index): WorkloadClass => {
        const model = this.#classes.get(name)?.model ?? null;
        return { name, weight: weights[index] as number, limits: {}, ...(model !== null && { model }) };
      }),
      phases: [tracePhase(timesNs, names.length > 1 ? classOf : null, this.#stepS, weights)],
      notes: this.#notes(byRequests.length - kept.length),
    };
  }

  #findClass(target: string | null): LoggedClass | null {
    if (target === null || target === '') return { name: 'default', model: null };
    const known = this.#known.get(target);
    if (known !== undefined) return known;
    const loggedClass = classOfTarget(target);
    if (this.#known.size < MAX_NAMES) this.#known.set(target, loggedClass);
    return loggedClass;
  }

  #notes(rare: number): readonly string[] {
    const counts: readonly (readonly [number, string])[] = [
      [this.#upkeep, 'health checks, metrics and the like are left out'],
      [this.#unmatched, 'requests do not match and are left out'],
      [this.bad, 'lines are not requests'],
      [rare, `rare classes are put together as '${LAST_CLASS}'`],
    ];
    const step = this.#stepS > 0 ? [`its clock has steps of ${this.#stepS} s: arrivals are spread over one`] : [];
    return [
      `${this.#form}: ${this.#arrivals.length} requests`,
      ...counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`),
      ...step,
    ];
  }
}

/**
 * A phase of times of any clock, in rising order; it lasts a mean gap longer than they span, or to
 * the end of the clock's last step.
 */
function tracePhase(
  timesNs: Float64Array,
  classOf: Uint16Array | null,
  resolutionS: number,
  weights: readonly number[],
): Phase {
  const firstNs = timesNs[0] as number;
  const times = timesNs.map((timeNs) => timeNs - firstNs);
  const spanS = (times.at(-1) as number) / NS_PER_S;
  const gapS = times.length > 1 ? spanS / (times.length - 1) : 1;
  const durationS = spanS + Math.max(gapS, resolutionS, 1e-5);
  const arrivals = { process: 'trace' as const, timesNs: times, classOf, resolutionNs: resolutionS * NS_PER_S };
  return { name: null, durationS: Number(durationS.toFixed(6)), arrivals, mix: { from: weights, to: weights } };
}
