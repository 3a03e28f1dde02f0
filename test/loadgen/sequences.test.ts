import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type SequenceRule, Sequences } from '#loadgen/sequences.ts';
import type { InferRequest, PreparedRequest, RequestSet, SendOutcome, Transport } from '#loadgen/types.ts';
import { SimulatedClock } from './simulation.ts';

const model = { model: 'm', version: '', batch: 1 };
const requestOf = (stream: number, step: number): InferRequest => ({
  ...model,
  inputs: [{ name: 'A', datatype: 'UINT8', shape: [2], raw: Uint8Array.of(stream, step) }],
  parameters: [{ name: 'own', type: 'string', value: 'x' }],
});
const setOf = (...lengths: number[]): RequestSet => ({
  ...model,
  requests: lengths.flatMap((length, stream) => Array.from({ length }, (_, step) => requestOf(stream, step))),
  streamLengths: lengths,
});

interface Sent {
  readonly id: number;
  readonly start: boolean;
  readonly end: boolean;
  readonly stream: number;
  readonly step: number;
  readonly expected: InferRequest['expected'];
  readonly done: (outcome: SendOutcome) => void;
}

/** Keeps what is sent until a test ends it. */
class Inner implements Transport {
  readonly sent: Sent[] = [];
  readonly prepare = (request: InferRequest): PreparedRequest => ({ request });

  send({ request }: PreparedRequest, done: (outcome: SendOutcome) => void): void {
    const value = (name: string) => request.parameters?.find((parameter) => parameter.name === name)?.value;
    const [stream, step] = request.inputs.flatMap(({ raw }) => [...raw]);
    expect(value('own')).toBe('x');
    this.sent.push({
      id: value('sequence_id') as number,
      start: value('sequence_start') as boolean,
      end: value('sequence_end') as boolean,
      stream: stream as number,
      step: step as number,
      expected: request.expected,
      done,
    });
  }

  async close(): Promise<void> {}
}

const ok: SendOutcome = { ok: true };
const failure: SendOutcome = { ok: false, kind: 'status', message: 'no' };
const rule: SequenceRule = { variation: 0, ids: { low: 1, high: 1000 }, seed: 1 };

function begin(set: RequestSet, change: Partial<SequenceRule> = {}) {
  const inner = new Inner();
  const sequences = new Sequences(inner, set, { ...rule, ...change });
  const outcomes: SendOutcome[] = [];
  const send = (): Sent => {
    sequences.send({ request: requestOf(0, 0) }, (outcome) => outcomes.push(outcome));
    return inner.sent.at(-1) as Sent;
  };
  /** Sends and ends one request. */
  const turn = (outcome = ok): string => {
    const { id, start, end, stream, step, done } = send();
    done(outcome);
    return `${id}:${start ? '<' : ''}${stream}.${step}${end ? '>' : ''}`;
  };
  return { inner, sequences, outcomes, send, turn };
}

describe('Sequences', () => {
  it('have their ids as texts where the rule says so', () => {
    const { send } = begin(setOf(1), { asText: true });
    expect(send().id).toBe('1');
    expect(begin(setOf(1)).send().id).toBe(1);
  });

  it('expect the outputs of a step only the first time, and again after a failure', () => {
    const set = setOf(2);
    const requests = set.requests.map((request, step) => ({
      ...request,
      expected: [[{ name: 'B', datatype: 'UINT8', raw: Uint8Array.of(step) }]],
    }));
    const { inner, turn } = begin({ ...set, requests }, { length: 5 });
    for (const outcome of [ok, ok, ok, failure, ok, ok]) turn(outcome);
    const expected = inner.sent.map((sent) => sent.expected?.[0]?.[0]?.raw[0]);
    expect(expected).toEqual([0, 1, undefined, undefined, 0, 1]);
  });

  it('go through their streams, flagged at both ends, with a new id each', () => {
    const { turn, sequences } = begin(setOf(3, 1, 2));
    const turns = Array.from({ length: 9 }, () => turn());
    expect(turns).toEqual(['1:<0.0', '1:0.1', '1:0.2>', '2:<1.0>', '3:<2.0', '3:2.1>', '4:<0.0', '4:0.1', '4:0.2>']);
    expect(sequences.live).toBe(0);
  });

  it('are as long as they are told, and begin their stream again', () => {
    const { turn } = begin(setOf(2), { length: 3 });
    expect([turn(), turn(), turn(), turn()]).toEqual(['1:<0.0', '1:0.1', '1:0.0>', '2:<0.0']);
  });

  it('vary evenly around their length, the same for the same seed', () => {
    const lengths = (seed: number): number[] => {
      const { turn } = begin(setOf(1), { length: 20, variation: 0.2, ids: { low: 1, high: 1e6 }, seed });
      const counts = new Map<string, number>();
      for (let count = 0; count < 15_000; count++) {
        const id = turn().split(':')[0] as string;
        counts.set(id, (counts.get(id) ?? 0) + 1);
      }
      return [...counts.values()].slice(0, -1);
    };
    const found = lengths(1);
    expect(new Set(found)).toEqual(new Set([16, 17, 18, 19, 20, 21, 22, 23, 24]));
    expect(found.reduce((sum, length) => sum + length, 0) / found.length).toBeCloseTo(20, 0);
    expect(lengths(1)).toEqual(found);
    expect(lengths(2)).not.toEqual(found);
  });

  it('send one request at a time each, those that have waited longest first', () => {
    const { send } = begin(setOf(5));
    const [a, b, c] = [send(), send(), send()];
    expect([a.id, b.id, c.id]).toEqual([1, 2, 3]);
    b.done(ok);
    a.done(ok);
    expect([send().id, send().id, send().id]).toEqual([2, 1, 4]);
  });

  it('take ids in turn from their range, never one that lives, and fail when there is none', () => {
    const { send, outcomes, sequences } = begin(setOf(1), { ids: { low: 7, high: 9 } });
    const [a, b, c] = [send(), send(), send()];
    expect([a.id, b.id, c.id]).toEqual([7, 8, 9]);
    send();
    expect(outcomes).toMatchObject([{ ok: false, kind: 'refused' }]);
    b.done(ok);
    expect(send().id).toBe(8);
    a.done(ok);
    c.done(ok);
    expect([send().id, send().id]).toEqual([9, 7]);
    expect(sequences.live).toBe(3);
  });

  it('start again under the same id after a failure', () => {
    const { turn, outcomes } = begin(setOf(3));
    expect([turn(), turn(failure), turn(), turn(), turn()]).toEqual(['1:<0.0', '1:0.1', '1:<0.0', '1:0.1', '1:0.2>']);
    expect(outcomes.map((outcome) => outcome.ok)).toEqual([true, false, true, true, true]);
  });

  it('are ended at the finish by one request each, as soon as they have none in flight', async () => {
    const { inner, sequences, send } = begin(setOf(5));
    const sent = [send(), send(), send()];
    sent[0]?.done(ok);
    sent[1]?.done(failure);
    const clock = new SimulatedClock();
    const finished = sequences.finish(1000, clock);
    const closing = inner.sent.slice(3);
    expect(closing.map(({ id, start, end }) => [id, start, end])).toEqual([
      [1, false, true],
      [2, true, true],
    ]);
    sent[2]?.done(ok);
    expect(inner.sent.slice(5).map(({ id, start, end }) => [id, start, end])).toEqual([[3, false, true]]);
    for (const request of inner.sent.slice(3)) request.done(ok);
    await finished;
    expect([sequences.live, clock.nowNs()]).toEqual([0, 0]);
    await sequences.finish(1000, clock);
    expect([inner.sent.length, clock.nowNs()]).toEqual([6, 0]);
  });

  it('do not wait at the finish longer than they may', async () => {
    const { sequences, turn } = begin(setOf(5));
    turn();
    const clock = new SimulatedClock();
    await sequences.finish(200, clock);
    expect(clock.nowNs()).toBe(200e6);
  });

  it('keep what a server relies on, however requests end', () => {
    const step = fc.record({ send: fc.boolean(), pick: fc.nat(), fails: fc.integer({ min: 0, max: 9 }) });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200 }), fc.integer({ min: 1, max: 6 }), (steps, ids) => {
        const { inner, send } = begin(setOf(4, 1, 3), { ids: { low: 1, high: ids } });
        const flying: Sent[] = [];
        /** Of live sequences: whether their last request failed. */
        const open = new Map<number, boolean>();
        for (const { send: sends, pick, fails } of steps) {
          const count = inner.sent.length;
          if (sends) send();
          if (inner.sent.length > count) {
            const sent = inner.sent.at(-1) as Sent;
            expect(flying.some(({ id }) => id === sent.id)).toBe(false);
            expect(sent.start).toBe(open.get(sent.id) ?? true);
            flying.push(sent);
          } else if (flying.length > 0) {
            const [ended] = flying.splice(pick % flying.length, 1) as [Sent];
            if (ended.end) open.delete(ended.id);
            else open.set(ended.id, fails === 0);
            ended.done(fails === 0 ? failure : ok);
          }
        }
      }),
    );
  });
});
