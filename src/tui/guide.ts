import { left } from './rows.ts';

/** A server that answers, that the person entered, or tritune's emulator. */
export interface ServerChoice {
  /** The options that name it on the command line. */
  readonly options: readonly ['-u' | '--launch', string];
  /** Such as `triton 2.51.0`. */
  readonly name: string;
}

export interface ModelChoice {
  readonly name: string;
  readonly state: string;
  /** Empty for a model that is not loaded, because its config is unknown. */
  readonly backend: string;
  /** A latency budget that suits the model, if it is known. */
  readonly budgetMs?: number;
}

/** The state of the guided start. */
export interface Guide {
  readonly step: 'server' | 'model' | 'budget' | 'plan';
  readonly servers: readonly ServerChoice[];
  readonly models: readonly ModelChoice[];
  /** The plan of the run, in lines. */
  readonly plan: readonly string[];
  /** The index of the selected choice; in the plan, the first visible row. */
  readonly cursor: number;
  /** The typed text: an address, or a budget. */
  readonly text: string;
  readonly server: ServerChoice | null;
  readonly model: string | null;
  readonly budgetMs: number | null;
  /** What the guide waits for; null while it asks the person. */
  readonly waiting: string | null;
  readonly fault: string | null;
}

export const initialGuide: Guide = {
  step: 'server',
  servers: [],
  models: [],
  plan: [],
  cursor: 0,
  text: '',
  server: null,
  model: null,
  budgetMs: null,
  waiting: 'looking for a server on the usual ports',
  fault: null,
};

export type GuideEvent =
  | { readonly type: 'servers'; readonly servers: readonly ServerChoice[] }
  | { readonly type: 'models'; readonly models: readonly ModelChoice[] }
  | { readonly type: 'plan'; readonly lines: readonly string[] }
  | { readonly type: 'failed'; readonly reason: string }
  /** `most`: the maximum that the plan can scroll on a screen too small for it. */
  | { readonly type: 'move'; readonly by: number; readonly most?: number }
  | { readonly type: 'typed'; readonly text: string }
  | { readonly type: 'enter' }
  | { readonly type: 'back' }
  | { readonly type: 'erase' };

/**
 * Returns the guide after an event. Pure. If it sets `waiting`, something must be fetched; `step`
 * says what.
 */
export function advance(guide: Guide, event: GuideEvent): Guide {
  const requestedGuide: Guide = { ...guide, waiting: null, fault: null };
  switch (event.type) {
    case 'servers':
      return { ...requestedGuide, servers: event.servers };
    case 'models':
      return { ...requestedGuide, models: readyFirst(event.models), cursor: 0 };
    case 'plan':
      return { ...requestedGuide, plan: event.lines };
    case 'failed':
      return { ...back(requestedGuide), fault: event.reason };
    case 'back':
      return back(requestedGuide);
    default:
      return guide.waiting === null ? answered(requestedGuide, event) : guide;
  }
}

const readyFirst = (models: readonly ModelChoice[]): readonly ModelChoice[] =>
  [...models].sort((a, b) => Number(b.state === 'READY') - Number(a.state === 'READY'));

function answered(guide: Guide, event: Extract<GuideEvent, { type: 'move' | 'typed' | 'enter' | 'erase' }>): Guide {
  switch (event.type) {
    case 'move':
      return { ...guide, cursor: Math.max(0, Math.min(findLast(guide, event), guide.cursor + event.by)) };
    case 'typed':
      return takesText(guide) ? { ...guide, text: guide.text + event.text } : guide;
    case 'erase':
      return { ...guide, text: guide.text.slice(0, -1) };
    case 'enter':
      return entered(guide);
  }
}

const findLast = (guide: Guide, { most = 0 }: { readonly most?: number }): number =>
  guide.step === 'plan' ? most : listChoices(guide).length - 1;

/** True if the person types the answer. */
export const takesText = ({ step }: Guide): boolean => step === 'server' || step === 'budget';

function entered(guide: Guide): Guide {
  const { step, text, cursor } = guide;
  if (step === 'server') {
    const typed = text.trim();
    const server = typed === '' ? guide.servers[cursor] : serverAt(typed);
    if (!server) return { ...guide, fault: 'type the address of the server: HOST:PORT with its gRPC port' };
    const waiting = `asking ${formatAddress(server)} for its models`;
    return { ...guide, step: 'model', server, text: '', cursor: 0, waiting };
  }
  if (step === 'model') {
    const { name: model, budgetMs } = guide.models[cursor] ?? {};
    return model === undefined ? guide : { ...guide, step: 'budget', model, text: String(budgetMs ?? '') };
  }
  if (step !== 'budget') return guide;
  const budgetMs = text.trim() === '' ? null : Number(text);
  if (budgetMs !== null && !(budgetMs > 0))
    return { ...guide, fault: 'type a number of milliseconds above 0, such as 20' };
  return { ...guide, step: 'plan', budgetMs, cursor: 0, waiting: 'reading the model and its search space' };
}

function back(guide: Guide): Guide {
  const before = { server: 'server', model: 'server', budget: 'model', plan: 'budget' } as const;
  // Restores the text typed there before, for editing.
  const typed = { server: '', model: typedUrl(guide), budget: '', plan: String(guide.budgetMs ?? '') };
  return { ...guide, step: before[guide.step], plan: [], cursor: 0, text: typed[guide.step] };
}

/** Returns the address if it was typed, not chosen from the list. */
const typedUrl = ({ server, servers }: Guide): string =>
  server === null || servers.includes(server) ? '' : formatAddress(server);

/** A server that the person entered. */
const serverAt = (url: string): ServerChoice => ({ options: ['-u', url], name: '' });

const formatAddress = ({ options: [, address] }: ServerChoice): string => address;

/**
 * Returns the arguments of the command for the choices so far, including the one selected or typed
 * now.
 */
export function listArguments(guide: Guide): readonly string[] {
  const { step, waiting } = guide;
  // While something is being fetched, the choice just made must not apply twice.
  const taken = waiting === null && step !== 'plan' ? entered({ ...guide, fault: null }) : guide;
  const next = taken.fault === null ? taken : guide;
  const { server, model, budgetMs } = next;
  const at = steps.indexOf(next.step);
  return [
    'tune',
    ...(model !== null && at >= steps.indexOf('budget') ? ['-m', model] : []),
    ...(server !== null && at >= steps.indexOf('model') ? server.options : []),
    ...(budgetMs !== null && at >= steps.indexOf('plan') ? ['--latency-budget', String(budgetMs)] : []),
  ];
}

const steps: readonly Guide['step'][] = ['server', 'model', 'budget', 'plan'];

/** Returns the choices in words. */
export function listChoices({ step, servers, models }: Guide): readonly string[] {
  if (step === 'server') return servers.map((server) => `${left(formatAddress(server), 28)} ${server.name}`);
  if (step !== 'model') return [];
  return models.map(({ name, state, backend }) => `${left(name, 32)} ${left(state.toLowerCase(), 12)} ${backend}`);
}
