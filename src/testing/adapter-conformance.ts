import assert from 'node:assert/strict';
import { isAbsolute } from 'node:path';
import type { LoadLevel } from '#loadgen/types.ts';
import type { Assignment, Candidate } from '#space/types.ts';
import { checkRecord } from '#study/records/record-schema.ts';
import type { Applied, ServerAdapter } from '#tuner/adapter.ts';
import { CandidateRefusedError } from '#tuner/refused.ts';
import type { ConformanceCheck } from './check.ts';

/** What a suite needs to know about an adapter. */
export interface AdapterSubject {
  /** Opens an adapter to an unchanged server. Every check opens one, and closes it. */
  open(): Promise<AdapterUnderTest>;
  /** Two legal assignments whose candidates differ from each other and from the original. */
  readonly assignments: readonly [Assignment, Assignment];
  /** An assignment without a candidate; absent if every assignment has one. */
  readonly illegal?: Assignment;
  /** An assignment whose candidate the server refuses; absent if it accepts all. */
  readonly refused?: Assignment;
  /** Each candidate starts a server, which ends when the candidate is restored. */
  readonly startsServers?: true;
  /** A load level that the server can handle. */
  readonly level: LoadLevel;
}

export interface AdapterUnderTest {
  readonly adapter: ServerAdapter;
  close(): Promise<void>;
}

/**
 * Returns the checks that every adapter must pass, for any test framework:
 * `for (const { name, run } of adapterConformance(…)) it(name, run)`.
 */
export function adapterConformance(subject: AdapterSubject): readonly ConformanceCheck[] {
  const { illegal, refused } = subject;
  const checks: Readonly<Record<string, Check>> = {
    'says what it is': saysWhatItIs,
    'builds the original for the empty assignment, and the same for the same': buildsTheSame,
    'gives candidates that a journal can hold': givesJson,
    'tells two candidates apart': tellsApart,
    'emits files with safe paths': emitsSafePaths,
    'applies a candidate, which then serves until another one is applied': appliesOnce,
    'measures what it has applied': measuresApplied,
    'stops soon after its signal': stopsWhenTold,
    'puts back what was there, as often as it is asked': putsBack,
    'puts nothing back where nothing was changed': leavesAlone,
    ...(illegal && { 'says why an assignment has no candidate': saysWhyNot(illegal) }),
    ...(refused && { 'keeps what serves when the server refuses a candidate': survivesRefusal(refused) }),
  };
  return Object.entries(checks).map(([name, check]) => ({ name, run: () => opened(subject, check) }));
}

type Check = (adapter: ServerAdapter, subject: AdapterSubject) => Promise<void>;

async function opened(subject: AdapterSubject, check: Check): Promise<void> {
  const { adapter, close } = await subject.open();
  try {
    await check(adapter, subject);
  } finally {
    await adapter.restore().finally(close);
  }
}

const saysWhatItIs: Check = async (adapter) => {
  const { name, identity } = adapter;
  assert.ok(name.length > 0, 'it has no name');
  for (const field of ['name', 'version', 'url', 'protocol', 'controlUrl', 'controlProtocol'] as const)
    assert.equal(typeof identity[field], 'string', `identity.${field} is not text`);
  assert.equal(await adapter.isReachable(signal()), true, 'it says that its server cannot be reached');
};

const buildsTheSame: Check = async (adapter, { assignments }) => {
  assert.deepEqual(built(adapter, {}), adapter.original, 'the empty assignment is not the original');
  const [one, other] = assignments.map((assignment) => built(adapter, assignment)) as [Candidate, Candidate];
  assert.deepEqual(built(adapter, assignments[0]), one, 'one assignment has two candidates');
  const fingerprints = new Set([adapter.original, one, other].map(({ fingerprint }) => fingerprint));
  assert.equal(fingerprints.size, 3, 'candidates that differ have one fingerprint');
  assert.deepEqual(one.assignment, assignments[0], 'a candidate does not have its assignment');
};

const givesJson: Check = async (adapter, { assignments }) => {
  for (const candidate of [adapter.original, ...assignments.map((each) => built(adapter, each))]) {
    assert.deepEqual(read(candidate), candidate, 'a candidate is another one when it is read from JSON');
    const start = { type: 'trial-started', at: '', trial: 1, role: 'search', candidate };
    assertRecord(start);
  }
};

const tellsApart: Check = async (adapter, { assignments }) => {
  const candidate = built(adapter, assignments[0]);
  assert.deepEqual(adapter.diff(candidate, candidate), [], 'a candidate differs from itself');
  const differences = adapter.diff(adapter.original, candidate);
  assert.ok(differences.length > 0, 'no difference to the original is told');
  for (const { path } of differences) assert.match(path, /^\S[^\n]*$/, 'a difference is not named in a line');
};

const emitsSafePaths: Check = async (adapter, { assignments }) => {
  const documents = adapter.documents(built(adapter, assignments[0]));
  for (const { path } of documents) {
    const isSafe = !isAbsolute(path) && !path.split(/[/\\]/).some((segment) => segment === '..' || segment === '');
    assert.ok(isSafe, `the path ${path} leads out of the output directory`);
  }
  assert.equal(new Set(documents.map(({ path }) => path)).size, documents.length, 'two files have one path');
};

const appliesOnce: Check = async (adapter, { assignments }) => {
  const [one, other] = assignments.map((assignment) => built(adapter, assignment)) as [Candidate, Candidate];
  const first = await applied(adapter, one);
  assert.notEqual(first.change, 'none', 'it says that a new candidate was there already');
  assert.ok(first.loadMs >= 0 && Number.isFinite(first.loadMs), `it took ${first.loadMs} ms`);
  assert.equal(await adapter.changed(signal()), null, 'it says that somebody has changed what it has just applied');
  assert.equal((await applied(adapter, read(one))).change, 'none', 'what serves was applied again');
  assert.notEqual((await applied(adapter, other)).change, 'none', 'it says that another candidate was there already');
  assert.notEqual(
    (await applied(adapter, one)).change,
    'none',
    'it takes the candidate before for the one that serves',
  );
};

const measuresApplied: Check = async (adapter, { assignments, level }) => {
  const on = await applied(adapter, built(adapter, assignments[0]));
  const measurement = await adapter.measure(on, level, { signal: signal(), onProgress: () => undefined });
  assert.deepEqual(measurement.level, level, 'it measured at another level');
  assert.ok(measurement.throughput.value > 0, 'nothing was served');
  assert.ok(measurement.latencyMs.p50 > 0, 'requests took no time');
  assertRecord({ type: 'trial-measured', at: '', trial: 1, measurement: read(measurement) });
};

const stopsWhenTold: Check = async (adapter, { assignments, level }) => {
  const on = await applied(adapter, built(adapter, assignments[0]));
  const stopped = AbortSignal.abort(new Error('stopped'));
  await assert.rejects(adapter.apply(built(adapter, assignments[1]), stopped), 'it applies after its signal');
  const measuring = adapter.measure(on, level, { signal: stopped, onProgress: () => undefined });
  await assert.rejects(measuring, 'it measures after its signal');
};

const putsBack: Check = async (adapter, { assignments, startsServers }) => {
  await applied(adapter, built(adapter, assignments[0]));
  for (const time of ['first', 'second']) {
    const { verified, detail } = await adapter.restore();
    assert.equal(verified, true, `the ${time} time: ${detail}`);
  }
  if (startsServers) return;
  assert.equal((await applied(adapter, adapter.original)).change, 'none', 'the original does not serve again');
};

const leavesAlone: Check = async (adapter, { startsServers }) => {
  if (!startsServers)
    assert.equal((await applied(adapter, adapter.original)).change, 'none', 'applying the original changes something');
  const { how, verified } = await adapter.restore();
  assert.deepEqual({ how, verified }, { how: 'nothing-changed', verified: true });
};

const saysWhyNot =
  (illegal: Assignment): Check =>
  async (adapter) => {
    const outcome = adapter.build(illegal);
    assert.ok(!outcome.legal, 'an illegal assignment has a candidate');
    assert.ok(outcome.reason.length > 0, 'no reason is given');
  };

const survivesRefusal =
  (refused: Assignment): Check =>
  async (adapter, { assignments, startsServers }) => {
    const before = built(adapter, assignments[0]);
    await applied(adapter, before);
    await assert.rejects(applied(adapter, built(adapter, refused)), (error) => {
      assert.ok(error instanceof CandidateRefusedError, `a refusal is not a CandidateRefusedError but ${error}`);
      return true;
    });
    const { change } = await applied(adapter, before);
    if (!startsServers) assert.equal(change, 'none', 'what served before the refusal does not any more');
  };

function built(adapter: ServerAdapter, assignment: Assignment): Candidate {
  const outcome = adapter.build(assignment);
  assert.ok(outcome.legal, `${JSON.stringify(assignment)} has no candidate: ${'reason' in outcome && outcome.reason}`);
  return outcome.candidate;
}

async function applied(adapter: ServerAdapter, candidate: Candidate): Promise<Applied> {
  const result = await adapter.apply(candidate, signal());
  assert.equal(result.candidate.fingerprint, candidate.fingerprint, 'another candidate was applied');
  return result;
}

function assertRecord(record: object): void {
  const checked = checkRecord(read(record));
  assert.ok('record' in checked, `a journal cannot hold it: ${'fault' in checked && checked.fault}`);
}

const signal = (): AbortSignal => new AbortController().signal;

/** Returns the value as read back from a journal. */
const read = <T>(value: T): T => JSON.parse(JSON.stringify(value)) as T;
