import { withDeadline } from '#base/abort.ts';
import { realClock } from '#base/clock.ts';
import { formatMessage, isTrituneError, TrituneError } from '#base/errors.ts';
import { canonicalJson } from '#base/json.ts';
import { nsToMs } from '#base/units.ts';
import { listDifferences } from '#space/differences.ts';
import { plainCandidate } from '#space/plain-candidate.ts';
import type { Assignment, Candidate, CandidateOutcome } from '#space/types.ts';
import type { Applied, Restored, ServerAdapter } from '#tuner/adapter.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';
import type { AdapterDefinition, MeasuringRule, OpenedAdapter } from '../definition.ts';
import { settingsDocuments } from './documents.ts';
import { profileBySending } from './measure.ts';
import type { SettingsServer } from './server.ts';

const APPLY_TIMEOUT_MS = 600_000;
const READ_TIMEOUT_MS = 10_000;

/** Makes an adapter for a server whose settings a program can read and set. */
export const settingsAdapter = (server: SettingsServer): AdapterDefinition => ({
  name: server.name,
  open: (rule, original) => openSettingsServer(server, rule, original),
});

/** Opens a server with settings. Errors: SERVER_UNREACHABLE if its settings cannot be read. */
async function openSettingsServer(
  server: SettingsServer,
  rule: MeasuringRule,
  first?: Candidate,
): Promise<OpenedAdapter> {
  const read = (signal?: AbortSignal): Promise<Assignment> => readSettings(server, signal);
  const foundAssignment = await read();
  const before = first ? toSettings(first) : foundAssignment;
  const original = toCandidate({}, before);
  const profile = await openProfile(server, rule);
  let serving = toCandidate({}, foundAssignment);
  let isTouched = !isEqual(foundAssignment, before);

  async function set(candidate: Candidate, signal?: AbortSignal): Promise<void> {
    const settings = toSettings(candidate);
    isTouched = true;
    const work = server.apply(settings, signal ?? AbortSignal.timeout(APPLY_TIMEOUT_MS));
    await withDeadline(work, APPLY_TIMEOUT_MS, () => tooSlow(server), signal).catch(asRefusal);
    const now = await read(signal);
    if (!isEqual(now, settings)) throw mismatch(now, settings);
    serving = candidate;
  }

  const adapter: ServerAdapter = {
    name: server.name,
    identity: toIdentity(server),
    original,
    build: (assignment): CandidateOutcome => {
      const settings = { ...before, ...assignment };
      const reason = server.refuse?.(settings) ?? null;
      return reason === null ? { legal: true, candidate: toCandidate(assignment, settings) } : { legal: false, reason };
    },
    diff: listDifferences,
    documents: settingsDocuments,
    apply: async (candidate, signal): Promise<Applied> => {
      const startNs = realClock.nowNs();
      signal.throwIfAborted();
      const isThere =
        candidate.fingerprint === serving.fingerprint && isEqual(await read(signal), toSettings(candidate));
      if (!isThere) await set(candidate, signal);
      return {
        candidate,
        change: isThere ? 'none' : 'full',
        loadMs: isThere ? 0 : nsToMs(realClock.nowNs() - startNs),
      };
    },
    changed: async (signal) => {
      const now = await read(signal);
      return isEqual(now, toSettings(serving)) ? null : `its settings are ${JSON.stringify(now)}`;
    },
    isReachable: (signal) =>
      read(signal).then(
        () => true,
        () => false,
      ),
    restore: async (): Promise<Restored> => {
      if (!isTouched) return { how: 'nothing-changed', verified: true, detail: 'its settings are the original ones' };
      await set(original).catch((error: unknown) => {
        throw new TrituneError('RESTORE_FAILED', formatMessage(error), 'check the settings of the server', {
          cause: error,
        });
      });
      isTouched = false;
      return { how: 'config', verified: true, detail: 'its settings are the original ones again' };
    },
    measure: profile.measure,
  };
  return {
    adapter,
    settings: server.settings,
    close: async () => {
      await profile.close();
      await server.close?.();
    },
  };
}

function readSettings(server: SettingsServer, signal?: AbortSignal): Promise<Assignment> {
  const limit = AbortSignal.timeout(READ_TIMEOUT_MS);
  const both = signal ? AbortSignal.any([signal, limit]) : limit;
  return withDeadline(server.read(both), READ_TIMEOUT_MS, () => unreachable(server, 'no answer'), signal).catch(
    (error: unknown) => {
      throw isTrituneError(error) ? error : unreachable(server, formatMessage(error));
    },
  );
}

/** Returns a candidate whose value is all settings of the server. */
const toCandidate = (assignment: Assignment, settings: Assignment): Candidate =>
  plainCandidate({ settings }, assignment);

const toSettings = ({ value }: Candidate): Assignment => value.settings as Assignment;

const isEqual = (one: Assignment, other: Assignment): boolean => canonicalJson(one) === canonicalJson(other);

const toIdentity = ({ name, version = '', url }: SettingsServer): ServerAdapter['identity'] => ({
  name,
  version,
  url,
  protocol: name,
  controlUrl: url,
  controlProtocol: name,
  emulated: null,
});

/**
 * A rejection by `apply` is the server's verdict on the candidate, unless the error says otherwise.
 */
function asRefusal(error: unknown): never {
  if (isTrituneError(error)) throw error;
  throw new CandidateRefusedError('init-failed', formatMessage(error), { cause: error });
}

/** Errors: USAGE if neither the program nor the study says what to send. */
async function openProfile(
  server: SettingsServer,
  rule: MeasuringRule,
): ReturnType<NonNullable<MeasuringRule['profileAt']>> {
  if (rule.profileAt) return rule.profileAt(server.url);
  if (server.send) return profileBySending(() => server.send?.() ?? Promise.resolve(), rule);
  throw new TrituneError(
    'USAGE',
    `nothing says what to send to ${server.name}`,
    'add --service-kind http with --path and --body, or send() to the adapter',
  );
}

const unreachable = ({ name, url }: SettingsServer, why: string): TrituneError =>
  new TrituneError('SERVER_UNREACHABLE', `${name} at ${url}: ${why}`, 'check that it is running, and read its log');

const tooSlow = ({ name }: SettingsServer): TrituneError =>
  new TrituneError('SERVER_TIMEOUT', `${name} did not apply its settings in time`, 'read its log');

const mismatch = (now: Assignment, sent: Assignment): TrituneError =>
  new TrituneError(
    'CONFIG_MISMATCH',
    `the server has ${JSON.stringify(now)} where ${JSON.stringify(sent)} was set`,
    'check whether somebody else sets it, or whether read() of the adapter omits settings',
  );
