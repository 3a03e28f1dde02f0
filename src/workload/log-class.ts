/** The class of a logged request, and its model if the target names one. */
export interface LoggedClass {
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
